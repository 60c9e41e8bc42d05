"""What a linter cannot see: rooms without a layer, expressions that backtrack, stale docs."""

import importlib
import inspect
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType

import pytest

import archives
import timegate
from archives.regex_compat import atomic

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def modules() -> Iterator[ModuleType]:
    for package in (archives, timegate):
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def test_every_room_has_its_layer() -> None:
    contracts = PYPROJECT["tool"]["importlinter"]["contracts"]
    layers = {name.strip() for layer in contracts[0]["layers"] for name in layer.split("|")}

    rooms = {
        f"{package.__name__}.{found.name}"
        for package in (archives, timegate)
        for found in pkgutil.iter_modules(package.__path__)
    }

    assert rooms <= layers


def expressions_of(module: ModuleType) -> "Iterator[tuple[str, re.Pattern[str]]]":
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern):
            yield f"{module.__name__}.{name}", value


EXPRESSIONS = [found for module in modules() for found in expressions_of(module)]


@pytest.mark.parametrize(
    "expression", [e for _, e in EXPRESSIONS], ids=[name for name, _ in EXPRESSIONS]
)
def test_no_expression_over_foreign_text_can_backtrack(expression: "re.Pattern[str]") -> None:
    """An unbounded repeat that is not possessive is how a parser becomes quadratic or worse."""
    unbounded = list(_greedy_unbounded(parser.parse(expression.pattern, expression.flags)))

    assert unbounded == []


def test_possessive_groups_are_compiled_so_that_they_go_back_in_every_python() -> None:
    """Python 3.11.0 to 3.11.4 err in them: see `archives.possessive`."""
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
