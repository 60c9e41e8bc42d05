"""nginx, HAProxy and Caddy as processes on loopback, with the configurations of ``deploy/``.

Only what has to differ is replaced: ports, names of files, the name of the host.
"""

import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

from tests.deploy.programs import installed
from tests.deploy.raw import PATIENCE, Place

ROOT = Path(__file__).parents[2]
CONFIGURATIONS = ROOT / "deploy" / "proxies"
APT = {"nginx": "nginx-light", "haproxy": "haproxy", "caddy": "caddy"}
USUAL = "127.0.0.1:1208"
HOST = "timegate.example.org"
COPIES = "copies.example.net"


@dataclass(frozen=True, slots=True)
class Rendering:
    """Addresses and files that a configuration is rendered with."""

    folder: Path
    upstreams: Sequence[int]
    plain: int
    tls: int
    certificate: Path
    """Key and chain in one file."""

    def replaced(self, text: str, changes: dict[str, str]) -> str:
        """Replace, and insist that there was something to replace."""
        for old, new in changes.items():
            assert old in text, f"{old!r} is no longer in the configuration"
            text = text.replace(old, new)
        return text


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy."""

    name: str
    plain: Place
    tls: Place
    program: str
    authority: Path
    """The certificate to trust, for clients that read it from a file."""

    def skip_if_it_hides_broken_answers(self) -> None:
        """Caddy before 2.8.0 sends the last chunk whatever happened (its commit 4de2c1c65)."""
        if self.name != "caddy":
            return
        ended = subprocess.run([self.program, "version"], capture_output=True, check=True)  # noqa: S603 -- Debian's own
        version = ended.stdout.decode().removeprefix("v").split()[0]
        if tuple(map(int, version.split(".")[:2])) < (2, 8):
            pytest.skip(
                f"Caddy {version} ends broken answers like whole ones; use 2.8 or later"
            )


def nginx(where: Rendering) -> list[str]:
    text = where.replaced(
        (CONFIGURATIONS / "nginx.conf").read_text(),
        {
            f"server {USUAL} max_fails=0;": " ".join(
                f"server 127.0.0.1:{port} max_fails=0;" for port in where.upstreams
            ),
            "listen 80;": f"listen 127.0.0.1:{where.plain};",
            "listen 443 ssl": f"listen 127.0.0.1:{where.tls} ssl",
            "/etc/ssl/timegate/fullchain.pem": str(where.certificate),
            "/etc/ssl/timegate/key.pem": str(where.certificate),
        },
    )
    (where.folder / "timegate.conf").write_text(text)
    (where.folder / "nginx.conf").write_text(
        f"daemon off; pid {where.folder}/pid; worker_processes 1;"
        f"error_log {where.folder}/log warn; events {{ worker_connections 512; }}\n"
        f"http {{ include {where.folder}/timegate.conf;"
        + "".join(
            f"{kind}_temp_path {where.folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        + "}\n"
    )
    return ["-p", str(where.folder), "-c", str(where.folder / "nginx.conf")]


def haproxy(where: Rendering) -> list[str]:
    servers = (f"server {name} 127.0.0.1:{port}\n" for name, port in enumerate(where.upstreams))
    text = where.replaced(
        (CONFIGURATIONS / "haproxy.cfg").read_text(),
        {
            f"server one {USUAL}\n": "    ".join(servers),
            "bind :80": f"bind 127.0.0.1:{where.plain}",
            "bind :443": f"bind 127.0.0.1:{where.tls}",
            "/etc/haproxy/timegate.pem": str(where.certificate),
        },
    )
    (where.folder / "haproxy.cfg").write_text(text)
    return ["-db", "-f", str(where.folder / "haproxy.cfg")]


def caddy(where: Rendering) -> list[str]:
    text = where.replaced(
        (CONFIGURATIONS / "Caddyfile").read_text(),
        {
            f"reverse_proxy {USUAL}": "reverse_proxy "
            + " ".join(f"127.0.0.1:{port}" for port in where.upstreams),
            f"\n{HOST}, {COPIES} {{": f"\nhttps://localhost:{where.tls}, https://{COPIES} {{\n"
            f"\tbind 127.0.0.1\n\ttls {where.certificate} {where.certificate}",
            "\n{\n": f"\n{{\n\tadmin off\n\thttp_port {where.plain}\n"
            f"\thttps_port {where.tls}\n"
            f"\tstorage file_system {where.folder}/storage\n\tdefault_bind 127.0.0.1\n",
        },
    )
    (where.folder / "Caddyfile").write_text(text)
    file = str(where.folder / "Caddyfile")
    return ["run", "--adapter", "caddyfile", "--config", file]


PROXIES: dict[str, Callable[[Rendering], list[str]]] = {
    "nginx": nginx,
    "haproxy": haproxy,
    "caddy": caddy,
}


@contextmanager
def running(name: str, folder: Path, *upstreams: int) -> Iterator[Proxy]:
    """Start a proxy in front of *upstreams*; end it by its pid."""
    program = installed(name, APT[name])
    folder.mkdir(exist_ok=True)
    authority = trustme.CA()
    certificate = folder / "certificate.pem"
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    authority.issue_cert(
        "localhost", HOST, COPIES
    ).private_key_and_cert_chain_pem.write_to_path(str(certificate))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    where = Rendering(folder, upstreams, free_port(), free_port(), certificate)
    command = [program, *PROXIES[name](where)]
    environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with (
        (folder / "output").open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env=environment) as process,  # noqa: S603 -- Debian's own
    ):
        try:
            _wait(where.tls, process, folder / "output")
            tls = Place(where.tls, trusting)
            yield Proxy(name, Place(where.plain), tls, program, folder / "authority.pem")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def _wait(port: int, process: "subprocess.Popen[bytes]", output: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < until, output.read_text()
            time.sleep(0.02)
        else:
            return
