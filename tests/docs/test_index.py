"""Every page can be found from the first one."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def linked_pages(page: Path) -> set[Path]:
    return {(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text())}


def test_index_links_every_page():
    written = {page for page in DOCS.rglob("*.md") if page.parent.name != "changelog.d"}
    by_topic = linked_pages(DOCS / "reference" / "index.md") | linked_pages(DOCS / "adr" / "index.md")
    assert written - linked_pages(DOCS / "index.md") - by_topic == {DOCS / "index.md"}


def test_index_links_only_existing_pages():
    assert all(page.exists() for page in linked_pages(DOCS / "index.md"))
