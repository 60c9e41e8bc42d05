"""Files that ``timegate resolve --batch`` writes: which may be replaced, and how.

A file is replaced only if it is empty or of an earlier run. An output is of one if its journal
is beside it; a report, which has no journal, if it begins as every report does.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import BinaryIO, Final

import click

from timegate.batch.html_report import is_report
from timegate.batch.journal import is_journal
from timegate.cli.output import typed_changed

STDOUT: Final = "-"
_ROWS: Final = {None: ".csv", "csv": ".csv", "jsonl": ".jsonl", "html": ".html"}


def check_files(given: str | None, output: str, report: str | None, to: str | None) -> None:
    """Raise UsageError if files cannot be written, or would replace something else.

    *given* is the name of the list, *to* the format of the output.
    """
    is_file = given not in (None, STDOUT)
    suffix = _ROWS.get(to, Path(given or "").suffix if is_file else "")
    _check("--output", output, f"results{suffix}")
    if report is not None:
        _check("--report", report, "report.html")
        if _places(output) & _places(report):
            why = f"--output {output} and --report {report} would be written to the same file"
            raise click.UsageError(f"{why}{_try('--report', _unused(_html_beside(output)))}")
    if is_file:
        _check_list(Path(given or ""), [output, *([] if report is None else [report])])
    _check_former(output, report)


def _check(option: str, name: str, example: str) -> None:
    """Raise UsageError if no file *name* can be written."""
    path = Path(name)
    folder = path.parent
    if name == STDOUT:
        return
    if name.endswith("/") and not path.exists():
        why = f"{option} {name}: there is no such folder"
        raise click.UsageError(f"{why}{_try(option, _elsewhere(Path(example)))}")
    if path.is_dir():
        why = f"{option} {name}: this is a folder; name a file in it"
        raise click.UsageError(f"{why}{_try(option, _unused(path / example))}")
    if not folder.is_dir():
        there = f"{folder} is no folder" if folder.exists() else f"there is no {folder}"
        raise click.UsageError(
            f"{name} cannot be written: {there}{_try(option, _elsewhere(path))}"
        )
    if path.exists() and not path.is_file():
        raise click.UsageError(
            f"{name} is no regular file, and is not replaced{_try(option, _elsewhere(path))}"
        )
    if trouble := _trouble_in(folder):
        why = f"{name} cannot be written: no file can be created in {folder} ({trouble})"
        raise click.UsageError(f"{why}{_try(option, _elsewhere(path))}")


def _check_list(given: Path, names: list[str]) -> None:
    """Raise UsageError if a file that is written is the list *given*."""
    for name in names:
        if name != STDOUT and Path(name).resolve() == given.resolve():
            raise click.UsageError(f"{name} is the list itself: choose another name for it")
        if given.resolve() in _places(name):
            why = f"{given} is the list, but is written on the way to {name}"
            raise click.UsageError(f"{why}: choose another name for one of them")


def _check_former(output: str, report: str | None) -> None:
    """Raise UsageError if a file would be replaced that is not of an earlier run."""
    if output != STDOUT and _has_content(output) and not is_journal(Path(f"{output}.journal")):
        why = f"{output} exists, and no journal says that it is of an earlier run"
        raise click.UsageError(
            f"{why}: remove it, or choose another name{_try('--output', _unused(Path(output)))}"
        )
    if report not in (None, STDOUT) and _has_content(report) and not is_report(Path(report)):
        why = f"{report} exists, and is not a report of timegate"
        raise click.UsageError(
            f"{why}: remove it, or choose another name{_try('--report', _unused(Path(report)))}"
        )


def _has_content(name: str) -> bool:
    path = Path(name)
    return path.exists() and path.stat().st_size > 0


def _places(name: str) -> set[Path]:
    """Return the files that are written for the output or report *name*."""
    if name == STDOUT:
        return {Path(STDOUT)}
    return {Path(f"{name}{suffix}").resolve() for suffix in ("", ".part", ".journal")}


def _trouble_in(folder: Path) -> str | None:
    """Return why no file can be created in *folder*; None if one can."""
    try:
        with TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror


def _try(option: str, path: Path) -> str:
    return f"\nTry: {typed_changed({option: str(path)})}"


def _unused(path: Path) -> Path:
    """Return *path*, or one like it that does not exist."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found


def _elsewhere(path: Path) -> Path:
    """Return a file of this name in a folder in which it can be created."""
    name = path.name or "results"
    return _unused(Path(name) if _trouble_in(Path()) is None else Path(gettempdir()) / name)


def _html_beside(output: str) -> Path:
    beside = Path("report") if output == STDOUT else Path(output)
    return beside.with_suffix(".html")


@contextmanager
def replaced(name: str) -> Iterator[BinaryIO]:
    """Open the file *name* for writing; it is replaced only when it is complete.

    Until then the output is in a ``.part`` file next to it. Errors name the file.
    """
    if name == STDOUT:
        with _naming("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    part = Path(f"{name}.part")
    with _naming(str(part)):
        with part.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(name)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the file in errors of writing, which do not say which one it was."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None:
            error.filename = name
        raise
