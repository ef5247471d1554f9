"""Finds values that are spelt like another one: typing errors and near duplicates."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Final

MAX_SUGGESTIONS: Final = 3
_MIN_SIMILARITY: Final = 0.6
_MIN_SIMILARITY_OF_DUPLICATE: Final = 0.85
_MIN_SHARE_OF_DUPLICATE: Final = 5
"""A near duplicate has at least a fifth of the count."""

_MAX_COMPARED_LENGTH: Final = 64


def list_similar_names(name: str, counts: Mapping[str, int]) -> list[str]:
    """Returns up to 3 names that are spelt like a name, the most similar first.

    For a name with a count only near duplicates with at least a fifth of it.

    Args:
        name: the name that was requested.
        counts: known names and how often they occur.
    """
    count = counts.get(name, 0)
    least = _MIN_SIMILARITY_OF_DUPLICATE if count else _MIN_SIMILARITY
    matcher = SequenceMatcher(b=name[:_MAX_COMPARED_LENGTH].casefold(), autojunk=False)
    found = []
    for other, other_count in counts.items():
        if other == name or other_count * _MIN_SHARE_OF_DUPLICATE < count:
            continue
        matcher.set_seq1(other[:_MAX_COMPARED_LENGTH].casefold())
        if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least:
            similarity = matcher.ratio()
            if similarity >= least:
                found.append((-similarity, -other_count, other))
    return [other for *_, other in sorted(found)[:MAX_SUGGESTIONS]]
