"""Docstrings describe parameters and attributes that exist, so a rename cannot leave a name behind."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import SOURCES, module_name, parse_source

SECTION = r"^%s:\n((?:    .*\n?|\n)*)"
DESCRIBED = re.compile(r"^    ([\w*]+(?:, [\w*]+)*):", re.MULTILINE)


def described_names(docstring: str, section_title: str) -> set[str]:
    """Returns the names that a section describes."""
    section = re.search(SECTION % section_title, docstring, re.MULTILINE)
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
        for name in described_names(ast.get_docstring(node) or "", "Args") - known:
            yield f"{module_name(path)}:{node.name}({name})"


def test_described_arguments_are_parameters():
    assert sorted(name for path in SOURCES for name in unknown_arguments(path)) == []


def attributes(node: ast.ClassDef) -> set[str]:
    """Returns the names of fields, class variables, methods and attributes that methods set or read."""
    names = class_parameters(node)
    for item in ast.walk(node):
        match item:
            case (
                ast.AnnAssign(target=ast.Name(id=name))
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                names.add(name)
    return names


def unknown_attributes(path: Path) -> Iterator[str]:
    """Yields described attributes that the class does not have."""
    for node in ast.walk(parse_source(path)):
        if isinstance(node, ast.ClassDef):
            for name in described_names(ast.get_docstring(node) or "", "Attributes") - attributes(node):
                yield f"{module_name(path)}:{node.name}.{name}"


def test_described_attributes_exist():
    assert sorted(name for path in SOURCES for name in unknown_attributes(path)) == []
