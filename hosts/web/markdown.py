"""Markdown of strangers as HTML that is safe to show: no raw HTML goes in, and only plain elements come out."""

from collections.abc import Sequence
from typing import Any, Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup

_ALLOWED_TAGS: Final = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ALLOWED_ATTRIBUTES: Final = {"a": {"href", "title"}, "ol": {"start"}}
_ALLOWED_SCHEMES: Final = {"http", "https", "mailto"}
_DEEPEST_HEADING: Final = 6


def render_untrusted_markdown(text: str) -> Markup:
    """Markdown as HTML.

    Raw HTML is shown as text. A picture is shown as its description: it would be loaded from
    somebody else's server. Headings start at the second level, as the page has its own first one.

    Args:
        text: as somebody wrote it.
    """
    tokens = _MARKDOWN.parse(text)
    _lower_headings(tokens)
    rendered = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    safe = nh3.clean(
        rendered,
        tags=_ALLOWED_TAGS,
        attributes=_ALLOWED_ATTRIBUTES,
        url_schemes=_ALLOWED_SCHEMES,
        link_rel="nofollow noopener noreferrer",
    )
    return Markup(safe)  # noqa: S704 - the one place where HTML is made of text, cleaned in the line above


def _render_image_text(_: RendererHTML, tokens: Sequence[Token], index: int, *__: Any) -> str:
    """The description of a picture, as text."""
    return nh3.clean_text(tokens[index].content)


def _lower_headings(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 1, _DEEPEST_HEADING)}"


_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_MARKDOWN.add_render_rule("image", _render_image_text)
