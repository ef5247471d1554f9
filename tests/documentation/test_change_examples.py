"""How many files a change touches: CONTRIBUTING's table, held to a recorded example of each kind of change.

An example is a patch. All of them are applied to a copy of the sources, where the tests they bring have to pass.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COPIED = ("service_core", "plugins", "hosts", "tests", "docs", "pyproject.toml")
ROW = re.compile(r"^\| .*\[example\]\(([\w/.-]+\.patch)\).* \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = {
    Path(path).stem: (Path(path), files, tests)
    for path, files, tests in ROW.findall((ROOT / "CONTRIBUTING.md").read_text())
}
PATCHES = sorted((ROOT / "tests" / "documentation" / "change_examples").glob("*.patch"))


LIMIT_OF_ALL_TOOLS = "tests/mcp/test_tools.py::test_list_stays_under_64_kib"
"""Left out: the examples together are more tools than a list may hold."""


def install_entry_points(folder):
    """Makes the plugins of the examples known, as an installation does."""
    before, after = (
        tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]["touchpoint"]
        for root in (ROOT, folder)
    )
    about = folder / "examples-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: examples\nVersion: 1\n")
    added = "".join(f"{name} = {module}\n" for name, module in after.items() if name not in before)
    (about / "entry_points.txt").write_text(f"[touchpoint]\n{added}")


def touched_files(patch):
    return re.findall(r"^\+\+\+ b/(.+)$", patch.read_text(), re.MULTILINE)


def test_every_example_has_a_row():
    assert sorted(ROOT / path for path, _, _ in ROWS.values()) == PATCHES


@pytest.mark.parametrize("kind", ROWS)
def test_row_has_the_counts_of_its_example(kind):
    path, files, tests = ROWS[kind]
    touched = touched_files(ROOT / path)
    sources = [name for name in touched if not name.startswith(("tests/", "docs/"))]
    if files.startswith("1 folder and its entry-point line"):
        folders = {Path(name).parent for name in sources if name != "pyproject.toml"}
        assert (len(folders), "pyproject.toml" in sources) == (1, True)
    else:
        assert int(files.split()[0].rstrip(":")) == len(sources), sources
    assert int(tests.split()[0].rstrip(":,")) == len([name for name in touched if name.startswith("tests/")])


def test_examples_work(tmp_path):
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    subprocess.run(["git", "apply", "--unidiff-zero", *PATCHES], cwd=tmp_path, check=True, timeout=60)
    install_entry_points(tmp_path)
    own_tests = {
        name for patch in PATCHES for name in touched_files(patch) if Path(name).name.startswith("test_")
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--deselect", LIMIT_OF_ALL_TOOLS, *sorted(own_tests)],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
