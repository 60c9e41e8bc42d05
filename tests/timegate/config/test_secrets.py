"""Secrets: read from elsewhere, shown nowhere."""

import json
import logging
import pickle
from pathlib import Path

import pytest

from timegate.config import BadConfig, load_config
from timegate.config.secrets import Secret, read_secret

ARCHIVE = '[[archive]]\nid = "x"\nkind = "memento"\ntimegate = "https://x.example/"\n'
FOR_CAMPUS = 'restricted_to = ["10.0.0.0/8"]\n'


def test_a_secret_is_in_no_representation() -> None:
    secret = Secret("hush")

    assert (str(secret), repr(secret), f"{secret}") == ("***", "***", "***")
    assert json.dumps({"secret": secret}, default=str) == '{"secret": "***"}'
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert secret.reveal() == "hush"


def test_a_secret_is_read_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("Bearer file\n")
    monkeypatch.setenv("TOKEN_OF_X", "Bearer env")

    assert read_secret({"file": "token"}, tmp_path).reveal() == "Bearer file"
    assert read_secret({"env": "TOKEN_OF_X"}, tmp_path).reveal() == "Bearer env"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (f'{ARCHIVE}{FOR_CAMPUS}authorization = "Bearer hush"\n', "must be {file"),
        (f'{ARCHIVE}{FOR_CAMPUS}authorization = {{file = "none"}}\n', "none cannot be read"),
        (f'{ARCHIVE}{FOR_CAMPUS}authorization = {{env = "NO_SUCH"}}\n', "NO_SUCH: it must be"),
        (f'{ARCHIVE}authorization = {{file = "token"}}\n', "restricted_to"),
        (
            f'{ARCHIVE}{FOR_CAMPUS}authorization = {{file = "token"}}\n'.replace(
                "https", "http"
            ),
            "https only",
        ),
    ],
)
def test_a_secret_that_would_leak_is_rejected(
    tmp_path: Path, text: str, complaint: str
) -> None:
    (tmp_path / "token").write_text("Bearer hush\n")
    path = tmp_path / "timegate.toml"
    path.write_text(text)

    with pytest.raises(BadConfig, match=complaint) as caught:
        load_config(path)

    assert "hush" not in str(caught.value)


def test_no_representation_of_the_configuration_contains_a_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "token").write_text("Bearer hush\n")
    path = tmp_path / "timegate.toml"
    path.write_text(f'{ARCHIVE}{FOR_CAMPUS}authorization = {{file = "token"}}\n')

    config = load_config(path)
    logging.getLogger("timegate").warning("%s", config)

    assert config.authorizations["x"].reveal() == "Bearer hush"
    assert "hush" not in repr(config)
    assert "hush" not in caplog.text
