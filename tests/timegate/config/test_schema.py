"""The schema of the configuration file, and its documentation."""

from pathlib import Path

import msgspec
import pytest

from tests.configuration_page import page
from timegate.config import BadConfig, load_config
from timegate.config.schema import sections

PAGE = Path(__file__).parents[3] / "docs/configuration.md"


def test_the_page_agrees_with_the_schema() -> None:
    written = PAGE.read_text()

    assert written == page(), "write it anew: python -m tests.configuration_page"


def test_every_key_has_a_meaning() -> None:
    rows = [line for line in page().splitlines() if line.startswith("| `")]

    assert [row for row in rows if row.endswith("|  |")] == []


def written(folder: Path, text: str) -> Path:
    path = folder / "timegate.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[limits]\nin_flight = 0\n", "limits.in_flight"),
        ("[limits]\nqueue_wait = '0s'\n", "limits.queue_wait"),
        ("[limits]\nexempt = ['localhost']\n", "limits.exempt"),
        ("[limits]\ntrusted_proxies = ['10.0.0.0/99']\n", "limits.trusted_proxies"),
        ("[limits]\nconections = 1\n", "limits.conections: unknown; allowed are in_flight"),
        ("[log]\nformat = 'xml'\n", "log.format"),
    ],
)
def test_a_bad_value_is_rejected_with_its_key(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(BadConfig, match=complaint):
        load_config(written(tmp_path, text))


def test_every_section_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMEGATE_LIMITS_EXEMPT", "10.0.0.0/8, ::1")
    monkeypatch.setenv("TIMEGATE_LIMITS_IN_FLIGHT", "7")
    monkeypatch.setenv("TIMEGATE_LOG_FORMAT", "json")
    monkeypatch.setenv("TIMEGATE_LOG_ACCESS", "true")

    config = load_config(None)

    assert config.limits.exempt == ["10.0.0.0/8", "::1"]
    assert config.limits.in_flight == 7
    assert (config.log.format, config.log.access) == ("json", True)


def test_all_sections_are_documented() -> None:
    assert {"listen", "limits", "log", "cache"} <= sections().keys()
    assert all(issubclass(kind, msgspec.Struct) for kind in sections().values())
