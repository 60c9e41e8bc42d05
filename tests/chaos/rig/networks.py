"""A network of its own: no way out, and addresses that are dead in every way there is.

What is opened and started in the block lives in it: sockets belong to the namespace of the
thread that makes them, processes begin in that of who starts them. Nothing has to be removed
afterwards, it goes with the last who is in it.
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
"""Three numbers; whatever goes there is lost."""
DEAD_ROUTES: Final = {
    "blackhole": "10.8.0.1",
    "unreachable": "10.7.0.1",
    "prohibit": "10.6.0.1",
}


@contextmanager
def own_network() -> Iterator[None]:
    """Be in a network with loopback, `SILENT`, `DEAD_ROUTES` and nothing else, without IPv6."""
    system = ctypes.CDLL(None, use_errno=True)
    outside = os.open(_HERE, os.O_RDONLY)
    try:
        if system.unshare(_NEW_NETWORK):
            why = os.strerror(ctypes.get_errno())
            raise CannotRun(f"a network of its own cannot be had here: {why}")
        try:
            _furnish()
            yield
        finally:
            system.setns(outside, _NEW_NETWORK)
    finally:
        os.close(outside)


def _furnish() -> None:
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    _ip("link", "set", "lo", "up")
    # Not of loopback, else the kernel would send nothing from it.
    _ip("address", "add", f"{OURS}/32", "dev", "lo")
    # It comes back to us, who are not meant, and do not pass it on. A black hole would tell
    # who is on the same machine at once.
    _ip("route", "add", f"{SILENT}.0/24", "dev", "lo", "src", OURS)
    for kind, address in DEAD_ROUTES.items():
        _ip("route", "add", kind, address)


def add_address(address: str) -> None:
    """Have one more."""
    _ip("address", "add", f"{address}/32", "dev", "lo")


def _ip(*words: str) -> None:
    found = shutil.which("ip", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if found is None:
        raise CannotRun("no ip (apt: iproute2)")
    subprocess.run([found, *words], check=True, capture_output=True)  # noqa: S603 -- the system's own


def with_name_server(folder: Path, address: str) -> Sequence[str]:
    """Return the command that runs another which asks *address* for names, and no file."""
    file = folder / "resolv.conf"
    file.write_text(f"nameserver {address}\n")
    unshare = shutil.which("unshare")
    if unshare is None:
        raise CannotRun("no unshare (apt: util-linux)")
    script = f'mount --bind {file} /etc/resolv.conf && exec "$@"'
    return (unshare, "--mount", "sh", "-c", script, "sh")
