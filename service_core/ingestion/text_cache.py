"""Caches pure functions of a text: a batch has few distinct addresses, pages, referrers and user agents."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, TypeVar

_V = TypeVar("_V")

MAX_CACHED_TEXT_LENGTH: Final = 1024
"""Longer texts are worked out anew, so that a client cannot fill the memory."""


def cache_by_text(max_entries: int) -> Callable[[Callable[[str], _V]], Callable[[str], _V]]:
    """Returns a decorator that keeps the results of a pure function for the texts used most recently.

    Results are shared between callers, so they must be immutable.

    Args:
        max_entries: how many texts are kept.
    """

    def decorate(compute: Callable[[str], _V]) -> Callable[[str], _V]:
        cached = lru_cache(max_entries)(compute)

        @wraps(compute)
        def compute_once(text: str) -> _V:
            return cached(text) if len(text) <= MAX_CACHED_TEXT_LENGTH else compute(text)

        return compute_once

    return decorate
