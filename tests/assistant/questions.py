"""All questions by area."""

from tests.assistant.questions_of_ads import (
    ADS,
    ATTRIBUTION,
    BOTS,
    EVENTS,
    LEDGER,
    SPELLING,
    SUBSCRIPTIONS,
    UNKNOWN,
)
from tests.assistant.questions_of_saved_work import EXPORTS, LINKS, SEGMENTS
from tests.assistant.questions_of_visits import (
    BREAKDOWNS,
    COHORTS,
    EXPERIMENTS,
    EXPLAIN,
    FUNNELS,
    MONEY,
    SERIES,
    TRAFFIC,
    VANISHED,
)

AREAS = {
    "traffic": TRAFFIC, "breakdowns": BREAKDOWNS, "series": SERIES, "what vanished": VANISHED, "why it changed": EXPLAIN, "money": MONEY, "funnels": FUNNELS,
    "cohorts": COHORTS, "experiments": EXPERIMENTS, "attribution": ATTRIBUTION, "ads": ADS, "subscriptions": SUBSCRIPTIONS, "events and people": EVENTS,
    "bots": BOTS, "unknown": UNKNOWN, "spelling": SPELLING, "ledger": LEDGER, "segments": SEGMENTS, "links": LINKS, "exports": EXPORTS,
}  # fmt: skip
QUESTIONS = [question for questions in AREAS.values() for question in questions]
