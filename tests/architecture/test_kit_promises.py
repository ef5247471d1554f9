"""Every test of a conformance kit states its promise, and every fixture that an author overrides says so."""

import ast

import pytest

from tests.architecture.sources import ROOT

KITS = sorted(
    path
    for path in (ROOT / "service_core/testing").rglob("*.py")
    if "    def test_" in path.read_text() or "    async def test_" in path.read_text()
)


@pytest.mark.parametrize("path", KITS, ids=lambda path: path.stem)
def test_kit_tests_state_their_promise(path):
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    silent = [
        node.name for node in functions if node.name.startswith("test_") and not ast.get_docstring(node)
    ]
    assert silent == []
    assert "NotImplementedError" not in path.read_text()
