"""Cards of reports that ran together, on dashboards and in analyses: also of those without a result."""

from dataclasses import replace
from typing import Final

from hosts.web.cards.card import Answer, Card, DisplayContext, message_card
from hosts.web.cards.reports import build_report_card_by_answer_fields

_TEXTS_WITHOUT_RESULT: Final = {
    "timeout": "This took too long to load. Reload the page in a minute.",
    "missing": "This report was deleted.",
}


def build_outcome_card(
    outcome: Answer, name: str | None, chart: str | None, setting: DisplayContext, size: str
) -> Card:
    """The card of one report of a run; a report without a result says why.

    Args:
        outcome: an item of ``cards`` of a dashboard's run.
        name: of the report; None when it was deleted.
        chart: the chart style of a catalog report, if it has one.
        setting: of the workspace.
        size: of the card.
    """
    if outcome["result"] is None:
        error = outcome["error"]
        reason = f"{error['error']}." if error else _TEXTS_WITHOUT_RESULT[outcome["status"]]
        return message_card(name or "A report", reason, size)
    card = build_report_card_by_answer_fields(outcome["result"], chart, setting, size)
    cut = ("More rows are not shown.",) if outcome["truncated"] else ()
    return replace(card, notes=(*card.notes, *cut))
