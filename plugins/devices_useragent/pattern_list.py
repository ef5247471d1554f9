"""Finds the first of an ordered list of regular expressions that matches a user agent.

The Rust matcher checks all patterns of a list in one pass whose time grows linearly with the agent. It has
no lookarounds: a pattern that contains one is checked there without it, and by `regex` when that matches.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import regex  # type: ignore[import-untyped]  # ships no types
from ua_parser_rs import DeviceExtractor

SEARCH_TIMEOUT_SECONDS: Final = 0.001
"""A pattern that takes longer counts as not matching."""

MAX_LOOKAROUND_CHECKS: Final = 16
"""Number of patterns with a lookaround that `regex` checks for one agent; the agents of people need one or two."""
_CHUNK_SIZE: Final = 8
"""Number of patterns with a lookaround that one matcher checks together."""

_RustPattern: TypeAlias = tuple[str, None, str, str, str]
_GROUP: Final = "\\g<"
_LOOKAROUND: Final = re.compile(r"\(\?<?[=!]")
_ESCAPE_OR_TEXT: Final = re.compile(r"(\\.)|([^\\]+)")
_BOUNDARY: Final = r"(?:^|[\x00-,./:-@\[-^`{-\x7f]|[\x00-,./:-@\[-`{-\x7f]_|sprd-|mz-)"
"""Characters before a match: no letter, digit, hyphen or underscore."""


class Pattern(NamedTuple):
    r"""A regular expression and the texts to fill with its groups, written as ``\\g<1>``."""

    expression: str
    version: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """The position of the pattern in its list and its texts with the groups of the match."""

    index: int
    version: str
    name: str


def normalize_user_agent(user_agent: str) -> str:
    """Returns the agent in lower case, with ``?`` for each character outside ASCII; its length is unchanged."""
    return user_agent.encode("ascii", "replace").decode().lower()


class PatternList:
    """An ordered list of patterns that match a normalized user agent, compiled at once.

    Args:
        patterns: checked in this order, case-insensitively; a match does not begin inside a word.
    """

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        exact: list[_RustPattern] = []
        self._lookarounds: list[_LookaroundPattern] = []
        for index, pattern in enumerate(patterns):
            for expression in _split_alternatives(pattern):
                lowered = _lowercase_expression(expression)
                if _LOOKAROUND.search(lowered):
                    self._lookarounds.append(_LookaroundPattern(index, lowered, pattern))
                else:
                    texts = (_dollar_groups(pattern.version), _dollar_groups(pattern.name))
                    exact.append((f"{_BOUNDARY}(?:{lowered})", None, str(index), *texts))
        self._exact = DeviceExtractor(exact)
        self._relaxed = _relaxed_extractor(self._lookarounds, 0)
        self._relaxed_chunks = [
            _relaxed_extractor(self._lookarounds[start : start + _CHUNK_SIZE], start)
            for start in range(0, len(self._lookarounds), _CHUNK_SIZE)
        ]

    def first_match(self, agent: str) -> PatternMatch | None:
        """Returns the match of the first pattern that matches a normalized agent."""
        found = self._exact.extract(agent)
        index = None if found is None else int(found.family)
        before = self._first_lookaround_match(agent, index)
        if before is not None or found is None or index is None:
            return before
        return PatternMatch(index, found.brand or "", found.model or "")

    def _first_lookaround_match(self, agent: str, before: int | None) -> PatternMatch | None:
        """Returns the first match of a pattern with a lookaround whose index is smaller than ``before``."""
        if (candidate := self._relaxed.extract(agent)) is None:
            return None
        for pattern in islice(self._relaxed_matches(agent, int(candidate.family)), MAX_LOOKAROUND_CHECKS):
            if before is not None and pattern.index >= before:
                return None
            if (match := pattern.match(agent)) is not None:
                return match
        return None

    def _relaxed_matches(self, agent: str, first: int) -> Iterator["_LookaroundPattern"]:
        """Yields patterns from number ``first`` on: each chunk from its first match without lookarounds."""
        for start in range(first - first % _CHUNK_SIZE, len(self._lookarounds), _CHUNK_SIZE):
            if (found := self._relaxed_chunks[start // _CHUNK_SIZE].extract(agent)) is not None:
                yield from self._lookarounds[int(found.family) : start + _CHUNK_SIZE]


class LinearSearch:
    """Searches an expression without lookarounds, in time that grows linearly with the text."""

    def __init__(self, *alternatives: str) -> None:
        self._extractor = DeviceExtractor([("|".join(alternatives), None, "found", "", "")])

    def matches(self, text: str) -> bool:
        """Returns whether the expression matches anywhere in the text; upper and lower case differ."""
        return self._extractor.extract(text) is not None


class _LookaroundPattern:
    """A pattern with a lookaround, compiled by `regex` when an agent first matches it without the lookaround."""

    def __init__(self, index: int, expression: str, pattern: Pattern) -> None:
        self.index = index
        self.relaxed = f"{_BOUNDARY}(?:{_remove_lookarounds(expression)})"
        self._expression = expression
        self._version, self._name = pattern.version, pattern.name

    @cached_property
    def _compiled(self) -> Any:
        return regex.compile(f"(?<={_BOUNDARY})(?:{self._expression})")

    def match(self, agent: str) -> PatternMatch | None:
        try:
            match = self._compiled.search(agent, timeout=SEARCH_TIMEOUT_SECONDS)
        except TimeoutError:
            return None
        if match is None:
            return None
        return PatternMatch(self.index, _fill_groups(self._version, match), _fill_groups(self._name, match))


def _fill_groups(text: str, match: Any) -> str:
    return str(match.expand(text)).strip() if _GROUP in text else ""


def _relaxed_extractor(patterns: Sequence[_LookaroundPattern], first: int) -> DeviceExtractor:
    """Returns a matcher of the patterns without their lookarounds; ``first`` is the number of the first one."""
    return DeviceExtractor(
        [(pattern.relaxed, None, str(number), "", "") for number, pattern in enumerate(patterns, first)]
    )


def _split_alternatives(pattern: Pattern) -> list[str]:
    """Returns the alternatives of a pattern with a lookaround, so that as little as possible needs `regex`.

    A pattern whose groups are used stays whole: their numbers would change.
    """
    if _GROUP in pattern.version + pattern.name:
        return [pattern.expression]
    return _split_expression(pattern.expression)


def _split_expression(expression: str) -> list[str]:
    """Returns the alternatives of an expression; those of a group at its start each end with what follows it."""
    if not _LOOKAROUND.search(expression):
        return [expression]
    bars, group_end = _top_level_bars_and_end_of_first_group(expression)
    if bars:
        edges = zip([-1, *bars], [*bars, len(expression)], strict=True)
        return [part for start, end in edges for part in _split_expression(expression[start + 1 : end])]
    following = expression[group_end + 1 :]
    if not expression.startswith("(?:") or following.startswith(("?", "*", "+", "{")):
        return [expression]
    inner = expression[len("(?:") : group_end]
    inner_bars, _ = _top_level_bars_and_end_of_first_group(inner)
    if not inner_bars:
        return [expression]
    edges = zip([-1, *inner_bars], [*inner_bars, len(inner)], strict=True)
    plain = [inner[start + 1 : end] for start, end in edges]
    guarded = [part for part in plain if _LOOKAROUND.search(part)]
    plain = [part for part in plain if part not in guarded]
    parts = [f"(?:{'|'.join(plain)}){following}"] if plain else []
    if _LOOKAROUND.search(following):
        return [expression]
    return [*parts, *(f"(?:{part}){following}" for part in guarded)]


def _top_level_bars_and_end_of_first_group(expression: str) -> tuple[list[int], int]:
    """Returns the positions of the bars outside groups and of the parenthesis that closes the first group."""
    bars, depth, end = [], 0, -1
    for position, character in _structural_characters(expression):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == "|":
            bars.append(position)
        elif depth == 0 and end < 0:
            end = position
    return bars, end


def _remove_lookarounds(expression: str) -> str:
    kept, depth, start = [], 0, 0
    for position, character in _structural_characters(expression):
        if character == "(" and (depth or _LOOKAROUND.match(expression, position)):
            if not depth:
                kept.append(expression[start:position])
            depth += 1
        elif character == ")" and depth:
            depth -= 1
            start = position + 1
    return "".join([*kept, expression[start:]])


def _structural_characters(expression: str) -> Iterable[tuple[int, str]]:
    """Yields position and character of parentheses and bars that are neither escaped nor in a class."""
    in_class, position = False, 0
    while position < len(expression):
        character = expression[position]
        if character == "\\":
            position += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
            position += expression.startswith(("]", "^]"), position + 1)
        elif character in "()|":
            yield position, character
        position += 1


def _lowercase_expression(expression: str) -> str:
    """Returns the expression in lower case but for its escapes, whose case has a meaning."""
    return _ESCAPE_OR_TEXT.sub(lambda part: part[1] or part[2].lower(), expression)


def _dollar_groups(text: str) -> str:
    r"""``\g<1>.\g<2>`` -> ``$1.$2``, as the Rust matcher writes groups."""
    return re.sub(r"\\g<(\d)>", r"$\1", text)
