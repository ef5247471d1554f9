"""The source files of the product, parsed once."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in ("service_core", "plugins", "hosts", "contrib")
    for path in (ROOT / folder).rglob("*.py")
    if "build" not in path.parts and not path.name.startswith("test_")
)
CORE = [path for path in SOURCES if path.is_relative_to(ROOT / "service_core")]


def module_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def read_source(path: Path) -> str:
    return path.read_text()


@cache
def parse_source(path: Path) -> ast.Module:
    return ast.parse(read_source(path))


def classes_in(path: Path) -> list[ast.ClassDef]:
    return [node for node in ast.walk(parse_source(path)) if isinstance(node, ast.ClassDef)]


def base_names(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(base).partition("[")[0] for base in node.bases}


def without_docstrings(tree: ast.Module) -> list[str]:
    """String constants of a module that are no docstrings."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]
