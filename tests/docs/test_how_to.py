"""The pages that say how something is added: their files are written down and their tests run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "contributors"
FILE = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INI = "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"


def install(folder, module):
    """As pip does for a package with one entry point: its own tests have to pass then, too."""
    about = folder / "shop-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[touchpoint]\n{module} = {module}\n")


@pytest.mark.parametrize(
    "page", ["add-a-metric.md", "add-an-attribution-model.md", "add-a-writable-resource.md"]
)
def test_the_files_of_a_page_do_what_it_says(page, tmp_path):
    files = FILE.findall((PAGES / page).read_text())
    assert len(files) >= 2
    for name, text in files:
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text(INI)
    install(tmp_path, files[0][0].removesuffix(".py"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", tmp_path],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
