"""Figures that are read from the source files, without running them."""

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median_low
from typing import Final

from tests.architecture.figures import Figure

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("timegate", "archives")
LOOSE_MODULES_ALLOWED: Final = frozenset({"__init__", "__main__", "app"})
"""The only modules that may be directly in `timegate/`."""
_LONG_MODULE: Final = 400
"""Lines; longer modules are counted."""


@dataclass(frozen=True)
class Module:
    """One product file."""

    path: str
    """Relative to the root of the repository."""
    text: str

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self.text.splitlines())

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """Every node of the syntax tree."""
        return tuple(ast.walk(ast.parse(self.text, self.path)))


def product_modules(root: Path = ROOT) -> list[Module]:
    """Read all Python files of the product."""
    return [
        Module(str(path.relative_to(root)), path.read_text())
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    ]


def import_layers(root: Path = ROOT) -> list[list[str]]:
    """Return the names of each layer of the first import contract, from the top down."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    contract = pyproject["tool"]["importlinter"]["contracts"][0]
    return [re.findall(r"[\w.]+", layer) for layer in contract["layers"]]


def static_figures(root: Path = ROOT) -> list[Figure]:
    """Return every figure that does not need a running program."""
    modules = product_modules(root)
    return [
        Figure("product files", len(modules), 465),
        _counted("loose modules in timegate/", 0, loose_modules(root)),
        _counted("public class names used twice", 0, classes_named_twice(modules)),
        _counted("ContextVars", 0, context_variables(modules)),
        *_layer_figures(root),
        *_length_figures(modules),
        Figure("README lines", len((root / "README.md").read_text().splitlines()), 180),
    ]


def loose_modules(root: Path) -> list[str]:
    """Return the other modules that are directly in `timegate/`."""
    found = sorted((root / "timegate").glob("*.py"))
    return [path.name for path in found if path.stem not in LOOSE_MODULES_ALLOWED]


def classes_named_twice(modules: Sequence[Module]) -> list[str]:
    """Return each public class name that occurs more than once, with its files."""
    files = defaultdict(list)
    for module in modules:
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(module.path)
    return [f"{name}: {', '.join(paths)}" for name, paths in files.items() if len(paths) > 1]


def context_variables(modules: Sequence[Module]) -> list[str]:
    """Return the place of each ContextVar that is created."""
    return [
        f"{module.path}:{node.lineno}"
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.Call) and _name(node.func) == "ContextVar"
    ]


def _name(called: ast.expr) -> str:
    """Return the last name of a called expression: ``b`` for ``a.b`` and ``a.b[int]``."""
    if isinstance(called, ast.Subscript):
        return _name(called.value)
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _layer_figures(root: Path) -> Iterator[Figure]:
    layers = [
        [name for name in layer if name.startswith("timegate")] for layer in import_layers(root)
    ]
    shown = [" | ".join(layer) for layer in layers if layer]
    yield _counted("layers of timegate/", 12, shown)
    wrong = misnamed_layers([name for layer in layers for name in layer], root)
    yield _counted("names in these layers that are not packages", 0, wrong)


def misnamed_layers(names: Sequence[str], root: Path) -> list[str]:
    """Return the names that are not packages of `timegate/`, or occur more than once."""
    allowed = {
        *(f"timegate.{path.parent.name}" for path in (root / "timegate").glob("*/__init__.py")),
        *(f"timegate.{name}" for name in LOOSE_MODULES_ALLOWED),
    }
    return [
        name if number == 1 else f"{name} ({number} times)"
        for name, number in Counter(names).items()
        if number > 1 or name not in allowed
    ]


def _length_figures(modules: Sequence[Module]) -> Iterator[Figure]:
    lengths: Mapping[str, int] = {module.path: module.lines for module in modules}
    longest = max(lengths, key=lambda path: lengths[path])
    yield Figure("lines of the longest module", lengths[longest], details=[longest])
    over = [path for path, lines in lengths.items() if lines > _LONG_MODULE]
    yield _counted(f"modules over {_LONG_MODULE} lines", None, over)
    yield Figure("median lines of a function", median_low(function_lengths(modules) or [0]))


def function_lengths(modules: Sequence[Module]) -> list[int]:
    """Return the number of lines of each function, with its signature and docstring."""
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def _counted(name: str, limit: int | None, details: Sequence[str]) -> Figure:
    return Figure(name, len(details), limit, details)
