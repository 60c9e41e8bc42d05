"""The example configuration is valid, and names every key."""

import re
import tomllib
from pathlib import Path

import msgspec

from tests.deploy.proxies import ROOT
from timegate.config import load_config
from timegate.config.schema import File

EXAMPLE = ROOT / "deploy" / "timegate.toml"


def switched_on(folder: Path) -> str:
    """Return the example with all its examples, and with paths that exist."""
    (folder / "warcs").mkdir()
    text = re.sub(r"^url = .*\n", "", EXAMPLE.read_text(), flags=re.MULTILINE)
    lines = [line.removeprefix("#: ") for line in text.splitlines() if "redis:" not in line]
    return "\n".join(lines).replace("/srv/warcs", str(folder / "warcs"))


def keys(struct: type[msgspec.Struct], prefix: str = "") -> set[str]:
    found = set()
    for field in msgspec.structs.fields(struct):
        kind = field.type
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            found |= keys(kind, f"{prefix}{field.name}.")
        else:
            found.add(prefix + field.name)
    return found


def written(table: dict[str, object], prefix: str = "") -> set[str]:
    found = set()
    for key, value in table.items():
        found.add(prefix + key)
        if isinstance(value, dict):
            found |= written(value, f"{prefix}{key}.")
    return found


def test_the_example_is_valid_as_it_is() -> None:
    config = load_config(EXAMPLE)

    assert config.contact == "mailto:web@example.org"
    assert {entry.id for entry in config.registry.used} == {
        "internet-archive",
        "arquivo-pt",
        "intranet",
    }


def test_every_commented_key_of_the_example_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "timegate.toml"
    file.write_text(switched_on(tmp_path))

    config = load_config(file)

    assert {"intranet", "library", "mine"} <= {entry.id for entry in config.registry.used}
    assert config.cache.startswith("sqlite:")


def test_the_example_names_every_key(tmp_path: Path) -> None:
    assert keys(File) <= written(tomllib.loads(switched_on(tmp_path)))


def test_the_example_has_the_default_values() -> None:
    stated = tomllib.loads(EXAMPLE.read_text())
    defaults = msgspec.to_builtins(File())

    for table in ("listen", "deadline", "cache", "limits", "log", "compatibility"):
        assert stated[table].items() <= defaults[table].items()
