"""Canaries in the configuration: what is read, and what is rejected."""

from pathlib import Path

import pytest

from archives.model import NEVER_ARCHIVED, Canary
from timegate.config import BadConfig, Config, load_config

OWN = """
[[archive]]
id = "mine"
kind = "memento"
timegate = "http://wayback.local/all/"
"""


def configured(folder: Path, text: str) -> Config:
    path = folder / "timegate.toml"
    path.write_text(text)
    return load_config(path)


def canary(config: Config, archive: str) -> Canary | None:
    entry = config.registry.by_id(archive)
    assert entry is not None
    return entry.canary


def test_without_configuration_there_are_no_canaries() -> None:
    assert load_config(None).canaries_every is None


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("6h", 21_600), ("7d", 604_800)])
def test_the_interval_is_configurable(tmp_path: Path, text: str, seconds: float) -> None:
    config = configured(tmp_path, f'[canaries]\nevery = "{text}"\n')

    assert config.canaries_every == seconds


def test_canary_pages_can_be_set_for_own_and_for_known_archives(tmp_path: Path) -> None:
    own = OWN + 'canary = { has = "http://a.example/", at = "2016" }\n'
    known = '[canaries.pages.arquivo-pt]\nhas = "http://b.example/"\n'

    config = configured(tmp_path, own + known)

    assert canary(config, "mine") == Canary("http://a.example/", "2016", NEVER_ARCHIVED)
    assert canary(config, "arquivo-pt") == Canary("http://b.example/")


def test_the_section_outranks_the_entry(tmp_path: Path) -> None:
    text = OWN + 'canary = { has = "http://a.example/" }\n'
    text += '[canaries.pages.mine]\nlacks = "http://none.invalid/"\n'

    assert canary(configured(tmp_path, text), "mine") == Canary(lacks="http://none.invalid/")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[canaries]\nevery = '5m'\n", "canaries.every: '5m' must be like 6h"),
        ("[canaries]\nevery = '8d'\n", "from 10m to 7d"),
        ("[canaries]\nevery = '0h'\n", "canaries.every"),
        ("[canaries]\nevery = 6\n", "canaries.every"),
        ("[canaries]\noften = '6h'\n", "canaries.often: unknown; allowed are every, pages"),
        ("[canaries.pages.arquivo]\nhas = 'http://a/'\n", "no such archive.*arquivo-pt"),
        ("[canaries.pages.arquivo-pt]\nhad = 'x'\n", r"arquivo-pt\.had: unknown key; allowed"),
        ("[canaries.pages.arquivo-pt]\nhas = 'ftp://a/'\n", "has: 'ftp://a/' is not an http"),
        ("[canaries.pages.arquivo-pt]\nhas = 7\n", r"pages\.arquivo-pt\.has: Expected"),
        ("[canaries.pages.arquivo-pt]\nat = '2016-01'\n", r"arquivo-pt\.at: '2016-01': a time"),
        (OWN + "canary = { lacks = 'nowhere' }\n", "canary.lacks: 'nowhere' is not an http"),
        (OWN + "canary = { at = '20161301' }\n", "canary.at: '20161301': there is no month"),
        (OWN + "canary = { haz = '1' }\n", "canary.haz: unknown key; allowed: has, at"),
    ],
)
def test_a_bad_value_is_rejected_with_its_key(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(BadConfig, match=complaint):
        configured(tmp_path, text)
