"""A command imports what it uses: most of the time of a short command is imports."""

import subprocess
import sys

import pytest

PWID = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"


def imported(*arguments: str) -> set[str]:
    """Return the modules that a command has imported when it ends."""
    script = (
        "import sys\n"
        "from timegate.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    run = subprocess.run(  # noqa: S603 -- our own script
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(run.stderr.split())


@pytest.mark.parametrize(
    "module", ["aiohttp", "archives.adapters", "asyncio", "rich", "ssl", "timegate.verdict"]
)
def test_parsing_an_identifier_imports_no_network_and_no_tables(module: str) -> None:
    assert module not in imported("parse", PWID)


@pytest.mark.parametrize("module", ["aiohttp.web", "timegate.app", "timegate.pages"])
def test_the_help_of_a_command_imports_no_server(module: str) -> None:
    assert module not in imported("resolve", "--help")
