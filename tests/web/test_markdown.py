"""Markdown of strangers: whatever is written, only plain elements come out."""

from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.web.markdown import render_untrusted_markdown
from service_core.kernel.ids import new_id
from service_core.workspace.analyses.models import split_at_embeds
from tests.fixtures.xss_payloads import PAYLOADS

PLAIN = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
KNOWN = {"href", "title", "rel", "start"}
MARKS = st.sampled_from(
    [
        *PAYLOADS[::7], "[", "](", ")", "![", "<", ">", "`", "```\n", "\n\n", "\n", "# ", "> ", "- ", "|", "|-|\n", "*", "~~",
        "javascript:alert(1)", "&#106;", "&lt;", '"', "'", "\\", "\0", "[a]: ", "data:text/html,x", "https://e.example/x", "é",
    ]
)  # fmt: skip


class RenderedElements(HTMLParser):
    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.leads = set(), set(), []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.leads += [value for name, value in attrs if name == "href"]


@given(st.lists(MARKS, max_size=30).map("".join))
def test_markdown_renders_only_allowed_elements(text):
    seen = RenderedElements(render_untrusted_markdown(text))
    assert seen.elements <= PLAIN
    assert seen.attributes <= KNOWN
    assert {urlsplit(url).scheme for url in seen.leads} <= {"", "http", "https", "mailto"}


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Top", "<h2>Top</h2>"),
        ("###### Deep", "<h6>Deep</h6>"),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        ("![a *cat*](https://e.example/x.png)", "<p>a *cat*</p>"),
        ("![<img src=x>](y)", "<p>&lt;img src=x&gt;</p>"),
        ("~~old~~ **new**", "<p><s>old</s> <strong>new</strong></p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        (
            '[x](https://e.example "y")',
            '<p><a href="https://e.example" title="y" rel="nofollow noopener noreferrer">x</a></p>',
        ),
    ],
)
def test_markdown_is_rendered(text, html):
    assert render_untrusted_markdown(text).strip() == html


def test_body_is_split_into_texts_and_embedded_reports():
    first, second = new_id(), new_id()
    body = f"Before\n\n::report[{first}]\n::report[ {second} ]  \r\nAfter ::report[{first}]"
    assert [(text.strip(), name) for text, name in split_at_embeds(body)] == [
        ("Before", str(first)), ("", str(second)), (f"After ::report[{first}]", None),
    ]  # fmt: skip
    assert list(split_at_embeds("")) == [("", None)]
