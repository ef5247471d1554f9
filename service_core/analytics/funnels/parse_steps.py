"""Parses the steps of a funnel request."""

import json
from collections.abc import Sequence
from typing import Any, Final

from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.kernel.errors import BadRequest

MIN_STEPS: Final = 2
MAX_STEPS: Final = 5


def parse_2_to_5_funnel_steps(raw_values: Sequence[str]) -> tuple[str, ...]:
    """Returns the event names of a repeated parameter; each value is a comma list or a JSON array of names.

    Raises:
        BadRequest: ``invalid_steps``, unless there are 2 to 5 names.
    """
    names = [name for text in raw_values for name in _split_json_array_or_comma_list(text)]
    if not MIN_STEPS <= len(names) <= MAX_STEPS or not all(
        isinstance(name, str) and name.strip() for name in names
    ):
        raise BadRequest("steps must contain 2 to 5 event names", "invalid_steps", field="steps")
    return tuple(name.strip() for name in names)


def _split_json_array_or_comma_list(text: str) -> list[Any]:
    if text.lstrip().startswith("["):
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            return [None]
        return parsed if isinstance(parsed, list) else [None]
    return text.split(",")


def expand_synonyms(steps: Sequence[str]) -> tuple[frozenset[str], ...]:
    """Returns, for each step, all event names that count as it."""
    return tuple(list_event_synonyms(name) for name in steps)
