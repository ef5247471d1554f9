"""Close values for a filter that matches nothing (contract 4.3)."""

from difflib import get_close_matches
from typing import Final

from service_core.access.model import Caller
from service_core.insight.measures import Op
from service_core.insight.query.question import Question
from service_core.insight.query.questions import Questions
from service_core.insight.values import find_values, last_days
from service_core.kernel.params import Answer

_MOST: Final = 3
_CLOSENESS: Final = 0.6
_MOST_VALUES: Final = 2000


class Suggestion(Answer):
    """A filter value nothing has, and one that is close to it."""

    dimension: str
    value: str
    suggestion: str


async def suggestions(who: Caller, questions: Questions, question: Question) -> list[Suggestion]:
    """Up to 3 close values for the exact filter values that nothing had in the last 90 days."""
    found: list[Suggestion] = []
    for condition in question.filters:
        if condition.op not in (Op.EQ, Op.IN):
            continue
        known = await _values_of(who, questions, condition.dimension)
        asked = condition.value if isinstance(condition.value, tuple) else (condition.value,)
        for value in map(str, asked):
            near = [] if value in known else get_close_matches(value, known, _MOST, _CLOSENESS)
            found += [
                Suggestion(dimension=condition.dimension, value=value, suggestion=each) for each in near
            ]
    return found[:_MOST]


async def _values_of(who: Caller, questions: Questions, dimension: str) -> list[str]:
    """Values of a dimension in the last 90 days, the most frequent first."""
    known = questions.catalog.dimensions[dimension]
    found, _ = await find_values(who, questions, known, last_days(who), q=None, limit=_MOST_VALUES)
    return [value.value for value in found]
