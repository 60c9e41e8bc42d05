"""Any input is answered or rejected, never with a traceback."""

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from archives.registry import load_known
from timegate.cli import main
from timegate.cli.options import SearchOptions

REGISTRY = load_known()
TEXT = st.text(max_size=60)
# Like a time, and yet none.
TIMES = st.one_of(
    TEXT,
    st.text(alphabet="0123456789-:/TZ+. ", max_size=30),
    st.lists(
        st.sampled_from(["Jan", "32", "0", "25:61", "9999", "AM", "+99:99", "Mon", "\u0661"])
    ).map(" ".join),
)


def choices(**chosen: str) -> SearchOptions:
    usual: dict[str, str | None] = {
        **dict.fromkeys(("at", "tolerance", "trust", "distrust", "wait")),
        "precision": "any",
        "direction": "closest",
        "verify": "none",
        "status": "2xx",
    }
    return SearchOptions(**(usual | chosen))  # type: ignore[arg-type]


@given(TIMES)
def test_a_time_is_read_or_rejected(text: str) -> None:
    try:
        choices(at=text).moment()
    except click.UsageError as error:
        assert error.message.startswith("--at: ")


@given(st.sampled_from(["tolerance", "wait", "trust", "distrust"]), TEXT)
def test_an_option_is_applied_or_rejected(name: str, text: str) -> None:
    try:
        choices(**{name: text}).preferences(REGISTRY)
    except click.UsageError as error:
        assert error.message.startswith(f"--{name}")


@pytest.mark.parametrize("command", ["parse", "cite"])
@given(text=st.text(alphabet=st.characters(codec=None), max_size=40))
def test_an_argument_is_read_or_rejected(command: str, text: str) -> None:
    result = CliRunner().invoke(main, [command, "--", text])

    assert result.exit_code in (0, 2)
    assert isinstance(result.exception, SystemExit | None)


@given(st.binary(max_size=80))
def test_standard_input_is_read_or_rejected(octets: bytes) -> None:
    result = CliRunner().invoke(main, ["parse", "-"], input=octets)

    assert result.exit_code in (0, 2)
    assert isinstance(result.exception, SystemExit | None)
