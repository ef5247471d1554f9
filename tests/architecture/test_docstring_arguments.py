"""Arguments that a docstring describes are parameters of its function, so a rename cannot leave one behind."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import SOURCES, module_name, parse_source

ARGUMENTS = re.compile(r"^Args:\n((?:    .*\n?|\n)*)", re.MULTILINE)
DESCRIBED = re.compile(r"^    ([\w*]+(?:, [\w*]+)*):", re.MULTILINE)


def described_arguments(docstring: str) -> set[str]:
    """Returns the names in the section of arguments."""
    section = ARGUMENTS.search(docstring)
    names = DESCRIBED.findall(section[1]) if section else []
    return {name.lstrip("*") for listed in names for name in listed.split(", ")}


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Returns the names of the parameters."""
    arguments = function.args
    named = [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]
    return {argument.arg for argument in named if argument}


def class_parameters(node: ast.ClassDef) -> set[str]:
    """Returns the parameters of ``__init__``, or the declared fields."""
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return parameters(item)
    return {
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }


def unknown_arguments(path: Path) -> Iterator[str]:
    """Yields described arguments that are no parameters."""
    tree = parse_source(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            known = parameters(node)
        elif isinstance(node, ast.ClassDef) and not node.bases:
            known = class_parameters(node)
        else:
            continue
        for name in described_arguments(ast.get_docstring(node) or "") - known:
            yield f"{module_name(path)}:{node.name}({name})"


def test_described_arguments_are_parameters():
    assert sorted(name for path in SOURCES for name in unknown_arguments(path)) == []
