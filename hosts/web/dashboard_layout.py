"""Changes of a dashboard's layout, one card at a time."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from service_core.kernel.errors import NotFound

SIZE_LABELS: Final[Mapping[str, str]] = {"sm": "Small", "md": "Medium", "lg": "Large"}

Cards = Sequence[Mapping[str, Any]]


def moved_report_ids(cards: Cards, report_id: str, steps: int) -> list[str]:
    """Returns the reports in the order that has one card moved; at an end it stays.

    Args:
        cards: of the layout.
        report_id: report of the card.
        steps: -1 towards the start, 1 towards the end.

    Raises:
        NotFound: no card has this report.
    """
    ids = [card["report_id"] for card in cards]
    if report_id not in ids:
        raise NotFound
    position = ids.index(report_id)
    target = min(max(position + steps, 0), len(ids) - 1)
    ids.insert(target, ids.pop(position))
    return ids


def report_ids_with_card_at(cards: Cards, report_id: str, position: int | None) -> list[str]:
    """Returns the reports in the order that has one card at a position, counted from 0; the last one at most.

    Args:
        cards: of the layout.
        report_id: report of the card.
        position: where the card goes.

    Raises:
        NotFound: no card has this report, or there is no such position.
    """
    ids = [card["report_id"] for card in cards]
    if report_id not in ids or position is None or position < 0:
        raise NotFound
    return moved_report_ids(cards, report_id, position - ids.index(report_id))


def read_changed_cards(cards: Cards, operation: str, report_id: str, size: str) -> list[dict[str, Any]]:
    """Returns the cards after one was added, resized or removed.

    Args:
        cards: of the layout.
        operation: ``add``, ``resize`` or ``remove``.
        report_id: report of the card.
        size: ``sm``, ``md`` or ``lg``; empty for the size that suits an added report.

    Raises:
        NotFound: there is no such operation or size.
    """
    if size and size not in SIZE_LABELS:
        raise NotFound
    sized = {"size": size} if size else {}
    match operation:
        case "add":
            return [*map(dict, cards), {"report_id": report_id, **sized}]
        case "resize":
            return [{**card, **sized} if card["report_id"] == report_id else dict(card) for card in cards]
        case "remove":
            return [dict(card) for card in cards if card["report_id"] != report_id]
        case _:
            raise NotFound
