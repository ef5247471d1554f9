"""Apply each mutation to a copy of the checkout and run the tests of its package: ``nox -s mutations [-- OPTIONS]``.

Tests that name the changed module run first. A package whose tests fail without a mutation is undecided.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Final

from tests.mutations.mutation import (
    ROOT,
    SURVIVED,
    UNDECIDED,
    Mutation,
    read_mutations,
    tests_of_package,
    write_mutations,
)

_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def find_mutation(copy: Path, mutation: Mutation, seconds: float) -> str:
    """Returns the first test that fails with a mutation, `SURVIVED` or `UNDECIDED`."""
    file = copy / mutation.file
    original = file.read_text()
    lines = original.splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if line.strip() == mutation.before]
    if len(places) != 1:
        return UNDECIDED
    line = lines[places[0]]
    lines[places[0]] = line.replace(mutation.before, mutation.after)
    for tests in _tests_by_nearness(mutation):
        file.write_text("".join(lines))
        try:
            result = _first_failure(copy, tests, seconds)
        finally:
            file.write_text(original)
        if result != SURVIVED:
            return (
                result if result == UNDECIDED or _pass_without_mutation(copy, result, seconds) else UNDECIDED
            )
    return SURVIVED


def _tests_by_nearness(mutation: Mutation) -> list[Sequence[str]]:
    """Returns the test files that name the changed module, then the others of its package."""
    module = re.compile(rf"\b{re.escape(Path(mutation.file).stem)}\b")
    files = [
        file
        for place in tests_of_package(mutation.package)
        for file in ([ROOT / place] if place.endswith(".py") else sorted((ROOT / place).rglob("test_*.py")))
    ]
    near = [
        file
        for file in files
        if module.search(file.read_text()) or file.stem == f"test_{Path(mutation.file).stem}"
    ]
    other = [file for file in files if file not in near]
    return [[str(file.relative_to(ROOT)) for file in group] for group in (near, other) if group]


@cache
def _pass_without_mutation(copy: Path, test: str, seconds: float) -> bool:
    return _first_failure(copy, (test,), seconds) == SURVIVED


def _first_failure(copy: Path, tests: Sequence[str], seconds: float) -> str:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--no-header",
        "--tb=no",
        "-p",
        "no:xdist",
        "-rfE",
        *tests,
    ]
    environment = os.environ | {"PYTHONPATH": str(copy), "TOUCHPOINT_EXAMPLES": "2", "COLUMNS": "400"}
    try:
        run = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return UNDECIDED
    if run.returncode in {0, 5}:
        return SURVIVED
    failed = _FAILED.search(run.stdout)
    return failed[1] if failed else tests[0]


def copy_committed_files(folder: Path) -> None:
    """Writes the files of the checked-out commit into a folder."""
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as tree:
        tree.extractall(folder, filter="data")


def print_table(mutations: Iterable[Mutation]) -> None:
    """Prints the mutations that no test found, and the number of each result."""
    counts = Counter(
        each.found_by if each.found_by in {"", SURVIVED, UNDECIDED} else "found" for each in mutations
    )
    for each in mutations:
        if each.found_by in {SURVIVED, UNDECIDED}:
            sys.stdout.write(f"{each.found_by}: {each.file}\n  - {each.before}\n  + {each.after}\n")
    sys.stdout.write(
        f"{counts['found']} found, {counts[SURVIVED]} not found, {counts[UNDECIDED]} undecided, {counts['']} not run\n"
    )


def main() -> int:
    """Returns 1 if a mutation that was run now is not found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("packages", nargs="*", help="such as service_core/kernel; all without")
    options.add_argument("--write", action="store_true", help="keep the results in the list")
    options.add_argument("--new", action="store_true", help="only those that were not run yet")
    options.add_argument(
        "--seconds", type=float, default=900, help="longest run of the tests of one mutation"
    )
    given = options.parse_args()
    mutations = read_mutations()
    chosen = [
        each
        for each in mutations
        if (not given.packages or each.package in given.packages) and not (given.new and each.found_by)
    ]
    with tempfile.TemporaryDirectory() as folder:
        copy_committed_files(Path(folder))
        for number, each in enumerate(chosen, start=1):
            each.found_by = find_mutation(Path(folder), each, given.seconds)
            sys.stdout.write(f"{number}/{len(chosen)} {each.file}: {each.found_by}\n")
            sys.stdout.flush()
            if given.write:
                write_mutations(mutations)
    print_table(mutations)
    return int(any(each.found_by in {SURVIVED, UNDECIDED} for each in chosen))


if __name__ == "__main__":
    raise SystemExit(main())
