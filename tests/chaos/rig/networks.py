"""A network namespace without a route to the outside, with addresses that fail in various ways.

Sockets belong to the namespace of the thread that makes them, and processes to that of the
thread that starts them. Nothing has to be removed: a namespace ends with its last process.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.chaos.scenario import CannotRun

_NEW_NETWORK: Final = 0x40000000
_HERE: Final = "/proc/thread-self/ns/net"

OURS: Final = "10.1.0.1"
SILENT: Final = "10.9.0"
"""The first three numbers of a network whose packets are lost."""
DEAD_ROUTES: Final = {
    "blackhole": "10.8.0.1",
    "unreachable": "10.7.0.1",
    "prohibit": "10.6.0.1",
}


@contextmanager
def own_network() -> Iterator[None]:
    """Run the block in a network with loopback, `SILENT` and `DEAD_ROUTES`, without IPv6."""
    system = ctypes.CDLL(None, use_errno=True)
    outside = os.open(_HERE, os.O_RDONLY)
    try:
        if system.unshare(_NEW_NETWORK):
            why = os.strerror(ctypes.get_errno())
            raise CannotRun(f"no network namespace can be made here: {why}")
        try:
            _configure()
            yield
        finally:
            system.setns(outside, _NEW_NETWORK)
    finally:
        os.close(outside)


def _configure() -> None:
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    _ip("link", "set", "lo", "up")
    # Not in 127.0.0.0/8: the kernel sends nothing from there to other networks.
    _ip("address", "add", f"{OURS}/32", "dev", "lo")
    # Packets come back over loopback and are dropped, because the address is not ours. A route
    # of type blackhole would be an immediate error for programs on this machine.
    _ip("route", "add", f"{SILENT}.0/24", "dev", "lo", "src", OURS)
    for kind, address in DEAD_ROUTES.items():
        _ip("route", "add", kind, address)


def add_address(address: str) -> None:
    """Add *address* to loopback."""
    _ip("address", "add", f"{address}/32", "dev", "lo")


def _ip(*words: str) -> None:
    found = shutil.which("ip", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise CannotRun("no ip (apt: iproute2)")
    subprocess.run([found, *words], check=True, capture_output=True)  # noqa: S603 -- a system program


def with_name_server(folder: Path, address: str) -> Sequence[str]:
    """Return the prefix for a command that is to use the name server at *address* only."""
    file = folder / "resolv.conf"
    file.write_text(f"nameserver {address}\n")
    unshare = shutil.which("unshare")
    if unshare is None:
        raise CannotRun("no unshare (apt: util-linux)")
    script = f'mount --bind {file} /etc/resolv.conf && exec "$@"'
    return (unshare, "--mount", "sh", "-c", script, "sh")
