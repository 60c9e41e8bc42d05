"""`[[store]]`: its folder, its tokens, and what is refused at the start."""

from pathlib import Path

import pytest

from timegate.config import BadConfig, Config, load_config
from timegate.store.opening import store_settings

DIGEST = "ab" * 32


def loaded(folder: Path, text: str) -> Config:
    file = folder / "timegate.toml"
    file.write_text(f"[archives]\nuse = []\n{text}")
    return load_config(file)


def test_a_store_is_a_collection_in_a_folder_beside_the_file(tmp_path: Path) -> None:
    config = loaded(
        tmp_path,
        f'[[store]]\nid = "notes"\npath = "n"\ntokens = ["sha256:{DIGEST}"]\npwid = ["s.org"]',
    )

    (entry,) = config.askable
    (settings,) = store_settings(config)
    assert (entry.id, entry.kind.name, entry.pwid) == ("notes", "warc", ("s.org",))
    assert settings.path == tmp_path / "n"
    assert settings.tokens == (bytes.fromhex(DIGEST),)
    assert not settings.path.exists()


def test_without_a_store_there_is_none(tmp_path: Path) -> None:
    assert store_settings(loaded(tmp_path, "")) == []


@pytest.mark.parametrize("token", ["my secret token", f"sha1:{DIGEST}", "sha256:abc"])
def test_a_wrong_token_is_refused_and_not_shown(tmp_path: Path, token: str) -> None:
    with pytest.raises(BadConfig, match=r"store\[1\]\.tokens") as refused:
        loaded(tmp_path, f'[[store]]\nid = "notes"\npath = "n"\ntokens = ["{token}"]')

    assert token not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[[store]]\nid = "notes"', "path"),
        ('[[store]]\nid = "Notes!"\npath = "n"', "id"),
        ('[[store]]\nid = "n"\npath = "n"\n[[store]]\nid = "n"\npath = "m"', "store.id"),
        ('[[store]]\nid = "n"\npath = "s3://bucket/"', "folder of this machine"),
        ('[[store]]\nid = "n"\npath = "n"\ntoken = "x"', "token"),
        ('[[store]]\nid = "n"\npath = "n"\nrevision_megabytes = 0', "revision_megabytes"),
    ],
)
def test_a_wrong_store_is_refused_with_its_key(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(BadConfig, match=why):
        loaded(tmp_path, text)
