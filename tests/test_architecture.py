"""Limits of the architecture, packages without a layer, expressions that backtrack."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import cast

import pytest

import archives
import timegate
from archives.regex_compat import LazyPattern, atomic
from tests.architecture.figures import Figure
from tests.architecture.journeys import traced_figures
from tests.architecture.tree import import_layers, static_figures

LIMITED = [figure for figure in static_figures() if figure.limit is not None]


@pytest.mark.parametrize("figure", LIMITED, ids=[figure.name for figure in LIMITED])
def test_the_source_files_keep_the_limit(figure: Figure) -> None:
    """`make architecture` prints all figures."""
    assert figure.met, "\n".join([figure.line, *figure.details])


def test_broken_limits_are_found(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": "[[tool.importlinter.contracts]]\n"
        'layers = ["timegate.cli | timegate.x"]',
        "README.md": "\n" * 181,
        "archives/__init__.py": "from contextvars import ContextVar\nclass Twice: ...",
        "timegate/cli/__init__.py": "client = ContextVar[str]('client')",
        "timegate/loose.py": "class Twice: ...",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}\n")

    broken = {f.name: list(f.details) for f in static_figures(tmp_path) if not f.met}

    assert broken == {
        "loose modules in timegate/": ["loose.py"],
        "public class names used twice": ["Twice: timegate/loose.py, archives/__init__.py"],
        "ContextVars": ["timegate/cli/__init__.py:1"],
        "names in these layers that are not packages": ["timegate.x"],
        "README lines": [],
    }


async def test_a_cold_request_and_a_batch_line_run_through_few_files() -> None:
    broken = [figure for figure in await traced_figures() if not figure.met]

    assert broken == [], "\n".join(line for f in broken for line in (f.line, *f.details))


def modules() -> Iterator[ModuleType]:
    for package in (archives, timegate):
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def test_every_package_has_its_layer() -> None:
    layers = {name for layer in import_layers() for name in layer}

    packages = {
        f"{package.__name__}.{found.name}"
        for package in (archives, timegate)
        for found in pkgutil.iter_modules(package.__path__)
    }

    assert packages <= layers


def expressions_of(module: ModuleType) -> "Iterator[tuple[str, re.Pattern[str]]]":
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern | LazyPattern):
            yield f"{module.__name__}.{name}", cast("re.Pattern[str]", value)


EXPRESSIONS = [found for module in modules() for found in expressions_of(module)]


@pytest.mark.parametrize(
    "expression", [e for _, e in EXPRESSIONS], ids=[name for name, _ in EXPRESSIONS]
)
def test_no_expression_over_foreign_text_can_backtrack(expression: "re.Pattern[str]") -> None:
    """An unbounded repeat that is not possessive is how a parser becomes quadratic or worse."""
    unbounded = list(_greedy_unbounded(parser.parse(expression.pattern, expression.flags)))

    assert unbounded == []


def test_possessive_groups_are_compiled_so_that_they_go_back_in_every_python() -> None:
    """Python 3.11.0 to 3.11.4 have a fault in them: see `archives.regex_compat`."""
    careless = {
        module.__name__
        for module in modules()
        for _, expression in expressions_of(module)
        if atomic(expression.pattern) != expression.pattern
        and "re.compile(" in inspect.getsource(module)
    }

    assert careless == set()


def _greedy_unbounded(node: object) -> Iterator[object]:
    if isinstance(node, parser.SubPattern):
        for operation, argument in node.data:
            if (
                operation in (codes.MAX_REPEAT, codes.MIN_REPEAT)
                and argument[1] is codes.MAXREPEAT
            ):
                yield operation
            # An atomic group around one repeat is a possessive repeat, written otherwise.
            elif operation is codes.ATOMIC_GROUP and len(argument) == 1:
                yield from _greedy_unbounded(argument[0][1])
                continue
            yield from _greedy_unbounded(argument)
    elif isinstance(node, tuple | list):
        for part in node:
            yield from _greedy_unbounded(part)
