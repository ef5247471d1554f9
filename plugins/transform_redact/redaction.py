"""Replaces personal data in texts."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from plugins.transform_redact.settings import RedactionSettings
from service_core.plugin import ChangedColumns, FailurePolicy, Transform, TransformFunction

REDACTED: Final = "redacted"
_MAX_CACHED_LENGTH: Final = 1024
_CACHED_TEXTS: Final = 4096

_EMAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]++(?:@|%40)(?:[a-z0-9-]{1,63}\.)+[a-z]{2,24}", re.IGNORECASE)
_CARD: Final = re.compile(r"(?:(?<![\w.%])|(?<=%[0-9A-Fa-f]{2}))\d(?:(?:[ +-]|%20)?\d){12,18}(?![\w.]?\d)")
_SEPARATOR: Final = re.compile("([ +-]|%20)")
_MIN_CARD_DIGITS: Final = 13
_MAX_GROUPS: Final = 7
"""Groups of digits among which a card number is looked for; of more, only all together are looked at."""
_DOUBLED: Final = bytes.maketrans(b"0123456789", b"0246813579")
"""Digit -> the sum of the digits of its double."""

_Replace = Callable[[str], str]


def build_redaction(settings: RedactionSettings) -> TransformFunction | None:
    """Returns the function that the settings ask for; None if they ask for nothing."""
    steps: list[_Replace] = []
    if settings.emails:
        steps.append(_redact_emails)
    if settings.card_numbers:
        steps.append(_redact_card_numbers)
    steps += [_redaction_of_pattern(pattern) for pattern in settings.patterns]
    return _Redaction(steps, frozenset(settings.kept_properties)).redact_columns if steps else None


class _Redaction:
    """Replaces personal data in all texts of the properties, also in nested ones.

    Args:
        steps: what replaces it in a text, one after the other.
        kept: names of properties that stay as they are.
    """

    def __init__(self, steps: list[_Replace], kept: frozenset[str]) -> None:
        self._steps = steps
        self._kept = kept
        self._redact_cached = lru_cache(_CACHED_TEXTS)(self._redact_text)

    def redact_columns(self, columns: Mapping[str, Any]) -> ChangedColumns | None:
        """Returns the properties without personal data; None if they have none."""
        before = columns["properties"]
        after = {
            name: value if name in self._kept else self._redact_value(value) for name, value in before.items()
        }
        return None if after == before else ChangedColumns({"properties": after})

    def _redact_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return (
                self._redact_cached(value) if len(value) <= _MAX_CACHED_LENGTH else self._redact_text(value)
            )
        if isinstance(value, dict):
            return {name: self._redact_value(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._redact_value(item) for item in value]
        if isinstance(value, int) and not isinstance(value, bool):
            return value if (text := str(value)) == self._redact_text(text) else REDACTED
        return value

    def _redact_text(self, text: str) -> str:
        for step in self._steps:
            text = step(text)
        return text


def _redact_emails(text: str) -> str:
    return _EMAIL.sub(REDACTED, text) if "@" in text or "%40" in text else text


def _redact_card_numbers(text: str) -> str:
    return _CARD.sub(_redact_card_among_digits, text)


def _redact_card_among_digits(run: re.Match[str]) -> str:
    """Returns digits without a card number, before or after which others may be, such as an expiry date."""
    parts = _SEPARATOR.split(run[0])
    for cut in range(0, len(parts) if len(parts) < 2 * _MAX_GROUPS else 1, 2):
        end = len(parts) - cut
        first, last = "".join(parts[:end:2]), "".join(parts[cut::2])
        if max(len(first), len(last)) < _MIN_CARD_DIGITS:
            break
        if _is_card_number(first):
            return REDACTED + "".join(parts[end:])
        if _is_card_number(last):
            return "".join(parts[:cut]) + REDACTED
    return run[0]


def _is_card_number(text: str) -> bool:
    """Returns whether digits are as many as those of a card, and the last one is the check digit of the others."""
    if len(text) < _MIN_CARD_DIGITS:
        return False
    digits = str(int(text)).encode()
    total = sum(digits[-1::-2]) + sum(digits[-2::-2].translate(_DOUBLED)) - len(digits) * ord("0")
    return total % 10 == 0


def _redaction_of_pattern(pattern: str) -> _Replace:
    compiled = re.compile(pattern)
    return lambda text: compiled.sub(REDACTED, text)


TRANSFORM: Final = Transform(
    id="redact",
    label="Redaction",
    reads=("properties",),
    writes=("properties",),
    build=build_redaction,
    on_failure=FailurePolicy.HOLD_EVENT,
)
