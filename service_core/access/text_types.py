"""Text types for names and reasons in requests: one line, without invisible or direction-changing characters."""

import unicodedata
from typing import Annotated, Final

from pydantic import AfterValidator, StringConstraints

_INVISIBLE_CHARACTERS: Final = frozenset("\u200b\u200e\u200f\u061c\u2028\u2029\ufeff") | {
    chr(point) for point in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


def _require_single_visible_line(text: str) -> str:
    if any(
        character in _INVISIBLE_CHARACTERS or unicodedata.category(character) == "Cc" for character in text
    ):
        raise ValueError("must be one line of visible text")
    return text


SingleLineName = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_require_single_visible_line),
]
"""A name of 1 to 200 characters."""

SingleLineText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=1000),
    AfterValidator(_require_single_visible_line),
]
"""A text of at most 1,000 characters; it may be empty."""
