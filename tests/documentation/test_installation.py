"""An installation brings its documentation along."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEARCH_PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from service_core.documentation import pages
from service_core.documentation.site import Documentation
found = Documentation("").search_index.search_all_words_else_any("funnel", 1)[0]
print(json.dumps([pages.__file__, [page.path for page in pages.load_pages_index_first()], found.page.path]))
"""


def test_installed_package_has_the_pages_of_a_checkout(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=200)
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    answers = []
    for place in (installed, ROOT):
        looked = subprocess.run(
            [sys.executable, "-c", SEARCH_PROGRAM, place],
            cwd=tmp_path,
            check=True,
            capture_output=True,
            timeout=200,
        )
        answers.append(json.loads(looked.stdout))
    assert Path(answers[0][0]).is_relative_to(installed)
    assert answers[0][1:] == answers[1][1:]
