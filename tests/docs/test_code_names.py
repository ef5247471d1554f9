"""Decisions name only code that exists."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "docs" / "adr").glob("0*.md"))
FILE_NAME = re.compile(r"[\w/.-]+\.(py|js|css|html)")
CODE_NAME = re.compile(r"[A-Z]\w*[a-z]\w*(\.\w+)*|[a-z]+(_[a-z]+)+(\.\w+)*")


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [
        str(p.relative_to(ROOT)) for p in ROOT.rglob("*.py") if ".venv" not in p.parts
    ]
    return [Path(name) for name in names]


def names_without_code(text: str, files: list[Path], words: set[str]) -> set[str]:
    quoted = set(re.findall(r"`([^`\n]+)`", text))
    missing_files = {
        name
        for name in quoted
        if FILE_NAME.fullmatch(name) and not any(f"/{file}".endswith(f"/{name}") for file in files)
    }
    missing_credential_names = {
        name for name in quoted if CODE_NAME.fullmatch(name) and not set(re.findall(r"\w+", name)) <= words
    }
    return missing_files | missing_credential_names


def test_decisions_name_existing_code():
    files = tracked_files()
    code = (file for file in files if file.suffix == ".py" and (ROOT / file).exists())
    words = {word for file in code for word in re.findall(r"\w+", (ROOT / file).read_text())}
    missing = {
        page.name: names
        for page in DECISIONS
        if (names := names_without_code(page.read_text(), files, words))
    }
    assert missing == {}


def test_name_without_code_is_found():
    assert names_without_code("`gone.py`, `GoneClass.run`, `int`", [Path("a/here.py")], {"here"}) == {
        "gone.py",
        "GoneClass.run",
    }
