"""``timegate mint``."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.timegate.series.serving import SERIES, today, write_config
from timegate.cli import main


def run(folder: Path, *arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
    config = str(folder / "timegate.toml")
    ended = CliRunner().invoke(main, ["mint", "--config", config, *arguments], input=stdin)
    return ended.exit_code, ended.stdout, ended.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    (tmp_path / "a.html").write_text("<p>one")
    (tmp_path / "b.html").write_text("<p>two")
    return tmp_path


def test_a_file_is_minted_and_its_pdi_printed(folder: Path) -> None:
    first = run(folder, SERIES, str(folder / "a.html"), "--format", "html")
    second = run(folder, SERIES, "-", "--format", "text", stdin=b"words")
    name = f"pdi://{SERIES}/{today()}"

    assert first[:2] == (0, f"{name}/1.html.1\n")
    assert second[:2] == (0, f"{name}/2.text.1\n")


def test_a_pdi_gets_a_version_and_the_same_bytes_change_nothing(folder: Path) -> None:
    _, pdi, _ = run(folder, SERIES, str(folder / "a.html"), "--format", "html")
    name = pdi.strip().removesuffix(".1")
    same = run(folder, name, str(folder / "a.html"))
    other = run(folder, name, str(folder / "b.html"))

    assert same[:2] == (0, pdi)
    assert "nothing was changed" in same[2]
    assert other[:2] == (0, f"{name}.2\n")


def test_a_pdi_of_elsewhere_is_put_in_place_once(folder: Path) -> None:
    old = f"pdi://{SERIES}/1997/09/01/1.html.1"
    first = run(folder, old, str(folder / "a.html"), "--in-place")
    other = run(folder, old, str(folder / "b.html"), "--in-place")

    assert first[:2] == (0, f"{old}\n")
    assert other[0] == 2
    assert "never changes" in other[2]


def test_a_uri_is_bound(folder: Path) -> None:
    code, pdi, _ = run(folder, SERIES, "--format", "pdf", "--bind", "https://example.org/r.pdf")

    assert (code, pdi) == (0, f"pdi://{SERIES}/{today()}/1.pdf.1\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["other.us", "a.html", "--format", "html"], "configured are"),
        ([SERIES, "a.html"], "state Content-Type"),
        ([SERIES, "missing.html", "--format", "html"], "No such file"),
        ([SERIES, "--format", "html"], "--bind"),
        ([f"pdi://{SERIES}/1997/*/*/*", "a.html"], "one document"),
        ([f"pdi://{SERIES}/1997/13/01/1", "a.html"], "month"),
        ([f"pdi://{SERIES}/1997/09/01/1.html", "a.html"], "never minted"),
        ([f"pdi://{SERIES}/1997/09/01/1", "a.html", "--in-place"], "format and version"),
    ],
)
def test_wrong_usage_says_what_is_wrong(
    folder: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    code, _, errors = run(folder, *arguments)

    assert code == 2
    assert message in errors
