"""An HTTP/2 client: curl, which sends targets unchanged, many over one connection."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.deploy.programs import installed
from tests.deploy.proxies import Proxy
from tests.deploy.raw import PATIENCE

_REQUEST = """\
url = "https://localhost:{port}/"
http2
silent
cacert = "{authority}"
request-target = "{target}"
output = "{folder}/{number}"
write-out = "%{{http_version}} %{{http_code}}\\n"
"""


def arrived(proxy: Proxy, targets: Sequence[str], folder: Path) -> list[str | int]:
    """Return for each what arrived behind *proxy*, or the status with which it was refused.

    0 where the stream was ended without an answer.
    """
    orders = folder / "orders"
    orders.write_text(
        "next\n".join(
            _REQUEST.format(
                port=proxy.tls.port,
                authority=proxy.authority,
                target=target.replace("\\", "\\\\").replace('"', '\\"'),
                folder=folder,
                number=number,
            )
            for number, target in enumerate(targets)
        )
    )
    command = [installed("curl", "curl"), "--config", str(orders)]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=3 * PATIENCE)  # noqa: S603 -- Debian's own
    answers = [line.split(" ") for line in ended.stdout.decode().splitlines()]
    assert {version for version, status in answers if int(status)} == {"2"}
    return [
        int(status) if status != "200" else _target(folder / str(number))
        for number, (_, status) in enumerate(answers)
    ]


def _target(echo: Path) -> str:
    return echo.read_bytes().decode("latin-1").split(" ")[1]
