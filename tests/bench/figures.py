"""Writes the tables of benches into `docs/figures.md`, each with its date, commit and machine.

A table stands between ``<!-- bench NAME -->`` and ``<!-- end NAME -->``; what stands around it is written by people.
"""

import os
import platform
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "figures.md"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_figures(name: str, table: str, page: Path = PAGE) -> None:
    """Replaces the table of a bench in the page; refuses to when the working tree has changes.

    Args:
        name: of the bench; the page has its two marks.
        table: Markdown.
        page: the page with the figures.

    Raises:
        SystemExit: figures of this code could not be repeated from a commit.
    """
    if describe_commit().endswith("-dirty"):
        raise SystemExit("Commit first: figures name the commit they were taken from.")
    page.write_text(replace_figures(page.read_text(), name, f"{table}\n\n{taken_line()}"))


def replace_figures(text: str, name: str, figures: str) -> str:
    """Returns the text of a page with the figures of a bench replaced.

    Raises:
        LookupError: the page has no marks of that bench.
    """
    begin, end = f"<!-- bench {name} -->", f"<!-- end {name} -->"
    between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    replaced, count = between.subn(lambda _: f"{begin}\n{figures}\n{end}", text)
    if count != 1:
        raise LookupError(f"The page has {count} places for the figures of {name}.")
    return replaced


def taken_line() -> str:
    """Returns when, from which commit and on which machine figures are taken now."""
    return f"Taken {datetime.now(UTC):%Y-%m-%d %H:%M} UTC from {describe_commit()} on {_machine()}."


def describe_commit() -> str:
    """Returns the short hash of the commit that is checked out, with ``-dirty`` if files differ from it."""
    return subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude", "*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def _machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, Python {platform.python_version()}, "
        f"{load:.1f} processes waiting for a core"
    )
