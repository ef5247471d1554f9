"""The documentation as pages, sections and an index for programs."""

import pytest

from service_core.documentation.pages import (
    load_pages_index_first,
    markdown_as_one_plain_line,
    unique_heading_anchors,
)
from service_core.documentation.site import Documentation

PAGE = """# Greeting <em>

<!-- Written by hand. -->

Say *hello* to `GET /links`, see [changes](changes.md). Then leave.

## How to say it

```sh
# not a heading
curl x
```

### Say it
## How to say it
| a | b |
|---|---|
| c | d |
"""


@pytest.fixture
def documentation(tmp_path):
    for path, text in {
        "index.md": "# Start\n\nBegin here.",
        "guides/greeting.md": PAGE,
        "guides/farewell.md": "# Farewell\n\nEnd greetings politely.",
        "changelog.d/x.md": "# No page",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return Documentation("https://docs.example.com", tmp_path)


def test_pages_are_read_from_their_folder_the_index_first(documentation):
    assert list(documentation.pages) == ["index", "guides/farewell", "guides/greeting"]


def test_pages_are_split_at_headings_outside_of_code(documentation):
    sections = documentation.pages["guides/greeting"].sections
    assert [(section.title, section.anchor) for section in sections] == [
        ("Greeting <em>", "greeting-em"),
        ("How to say it", "how-to-say-it"),
        ("Say it", "say-it"),
        ("How to say it", "how-to-say-it-1"),
    ]
    assert "# not a heading" in sections[1].text
    assert markdown_as_one_plain_line(sections[3].text) == "a b c d"


def test_anchors_follow_the_github_convention():
    titles = ["`POST /v1/links`", "What's new?", "A & B", "What's new?"]
    assert unique_heading_anchors(titles) == ["post-v1links", "whats-new", "a--b", "whats-new-1"]


def test_llms_txt_lists_every_page_as_markdown(documentation):
    text = documentation.llms_txt()
    assert text.startswith("# Touchpoint\n\n> Self-hosted")
    assert "- [Start](https://docs.example.com/index.md): Begin here." in text
    assert (
        "- [Greeting <em>](https://docs.example.com/guides/greeting.md): Say *hello* to GET /links, see changes."
        in text
    )
    assert text.index("## Start") < text.index("## Guides")


def test_full_text_holds_every_page_without_comments(documentation):
    text = documentation.llms_full_txt()
    assert all(page.text.strip() in text for page in documentation.pages.values())
    assert "Written by hand" not in text


def test_search_matches_word_forms_and_ranks_headings_first(documentation):
    first, *_, last = documentation.search_index.search_all_words_else_any("greetings", 5)
    assert (first.section.title, last.section.title) == ("Greeting <em>", "Farewell")
    assert first.score >= last.score >= 0
    assert "hello" in first.excerpt


def test_search_falls_back_to_some_of_the_words(documentation):
    assert [
        found.page.path for found in documentation.search_index.search_all_words_else_any("politely greet", 5)
    ] == ["guides/farewell"]
    assert len(documentation.search_index.search_all_words_else_any("politely curl", 5)) == 2


@pytest.mark.parametrize("text", ["zzz", "???", '"', "NEAR(", "zz OR", "x" * 5000, "* - ^ {y}: 'z'"])
def test_search_accepts_any_text(documentation, text):
    assert documentation.search_index.search_all_words_else_any(text, 5) == []


def test_documentation_of_this_version_has_a_title_and_no_empty_page():
    pages = load_pages_index_first()
    assert {"index", "consumers/query-api", "reference/operations"} <= {page.path for page in pages}
    for page in pages:
        assert page.sections, page.path
        assert page.sections[0].title == page.title
