"""What a linter cannot see: rooms without a layer, expressions that backtrack, stale docs."""

import importlib
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


EXPRESSIONS = [
    (f"{module.__name__}.{name}", value)
    for module in modules()
    for name, value in vars(module).items()
    if isinstance(value, re.Pattern)
]


@pytest.mark.parametrize(
    "expression", [e for _, e in EXPRESSIONS], ids=[name for name, _ in EXPRESSIONS]
)
def test_no_expression_over_foreign_text_can_backtrack(expression: "re.Pattern[str]") -> None:
    """An unbounded repeat that is not possessive is how a parser becomes quadratic or worse."""
    unbounded = list(_greedy_unbounded(parser.parse(expression.pattern, expression.flags)))

    assert unbounded == []


def _greedy_unbounded(node: object) -> Iterator[object]:
    if isinstance(node, parser.SubPattern):
        for operation, argument in node.data:
            if (
                operation in (codes.MAX_REPEAT, codes.MIN_REPEAT)
                and argument[1] is codes.MAXREPEAT
            ):
                yield operation
            yield from _greedy_unbounded(argument)
    elif isinstance(node, tuple | list):
        for part in node:
            yield from _greedy_unbounded(part)
