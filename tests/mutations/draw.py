"""Draw mutations at random, the same ones for the same code and seed: ``python -m tests.mutations.draw [COUNT]``."""

import ast
import random
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.mutations.mutation import ROOT, Mutation, tests_of_package, write_mutations

SEED: Final = 20_261_123
COUNT: Final = 100
_SWAPPED: Final = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult,
}  # fmt: skip
"""Operator -> the one that replaces it."""
_NOT_DRAWN_FROM: Final = (
    "service_core/testing",
    "service_core/documentation",
    "hosts/demo",
    "hosts/plugin_author",
)
"""Packages that serve tests, docs or the demo."""


def draw_mutations(count: int) -> list[Mutation]:
    """Returns mutations of random lines: one of each package, and the others of packages by their number of files."""
    chance = random.Random(SEED)
    by_package: defaultdict[str, list[Path]] = defaultdict(list)
    for file in sorted(
        file for owner in ("service_core", "plugins", "hosts") for file in (ROOT / owner).rglob("*.py")
    ):
        package = Mutation(str(file.relative_to(ROOT)), "", "").package
        if package not in _NOT_DRAWN_FROM and tests_of_package(package):
            by_package[package].append(file)
    drawn: list[Mutation] = []
    packages = sorted(by_package)
    chance.shuffle(packages)
    further = chance.choices(packages, [len(by_package[package]) for package in packages], k=10 * count)
    for package in (*packages, *further):
        if len(drawn) == count:
            return drawn
        files = by_package[package]
        for file in chance.sample(files, len(files)):
            found = [
                each for each in mutations_of_file(file) if each.before not in {one.before for one in drawn}
            ]
            if found:
                drawn.append(chance.choice(found))
                break
    raise ValueError(f"only {len(drawn)} lines can be changed")


def mutations_of_file(file: Path) -> Iterator[Mutation]:
    """Yields the mutations of functions of a file: one operator, number, truth value or negation of a line that it has once."""
    text = file.read_text()
    lines = text.splitlines()
    functions = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    for node in {inner: None for function in functions for body in function.body for inner in ast.walk(body)}:
        after = _mutated(node)
        if after is None or node.lineno != node.end_lineno:
            continue
        line = lines[node.lineno - 1]
        encoded = line.encode()
        changed = b"".join(
            (encoded[: node.col_offset], after.encode(), encoded[node.end_col_offset :])
        ).decode()
        if [each.strip() for each in lines].count(line.strip()) == 1 and changed != line:
            yield Mutation(str(file.relative_to(ROOT)), line.strip(), changed.strip())


def _mutated(node: ast.AST) -> str | None:
    """Returns the source of a changed expression; None for one that is not changed."""
    changed: ast.expr | None = None
    match node:
        case ast.Compare(ops=[op]) if type(op) in _SWAPPED:
            changed = ast.Compare(node.left, [_SWAPPED[type(op)]()], node.comparators)
        case ast.BoolOp(op=op):
            changed = ast.BoolOp(_SWAPPED[type(op)](), node.values)
        case ast.BinOp(op=op) if type(op) in _SWAPPED:
            changed = ast.BinOp(node.left, _SWAPPED[type(op)](), node.right)
        case ast.UnaryOp(op=ast.Not()):
            changed = node.operand
        case ast.Constant(value=bool()):
            changed = ast.Constant(not node.value)
        case ast.Constant(value=int()):
            changed = ast.Constant(node.value + 1)
    return None if changed is None else ast.unparse(changed)


if __name__ == "__main__":
    write_mutations(draw_mutations(int(sys.argv[1]) if sys.argv[1:] else COUNT))
