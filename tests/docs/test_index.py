"""Every page can be found from the first one."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def _linked(page: Path) -> set[Path]:
    return {(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text())}


def test_the_index_leads_to_every_page():
    written = {page for page in DOCS.rglob("*.md") if page.parent.name != "changelog.d"}
    by_topic = _linked(DOCS / "reference" / "index.md") | _linked(DOCS / "adr" / "index.md")
    assert written - _linked(DOCS / "index.md") - by_topic == {DOCS / "index.md"}


def test_the_index_leads_nowhere_else():
    assert all(page.exists() for page in _linked(DOCS / "index.md"))
