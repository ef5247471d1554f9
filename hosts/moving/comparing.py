"""Asking both stores for every metric of the catalog, by workspace and month: a move is done when they agree."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hosts.moving.copying import Store, count, scan_of
from hosts.moving.months import months
from service_core.access.model import Workspace
from service_core.access.reader import reader_of
from service_core.extension.registry import Registry
from service_core.insight.attribution.choose import credit_for
from service_core.insight.attribution.model import Attribution
from service_core.insight.query.question import Question
from service_core.insight.query.questions import Questions
from service_core.insight.query.sources import EventSource
from service_core.intake.ports import QueueState
from service_core.kernel.ranges import Range, Span
from service_core.kernel.reading import Reading, Unavailable

AT_ONCE: Final = 25
"""Metrics of one question."""

EVENTS: Final = "events of everybody, bots included"


@dataclass(frozen=True, slots=True)
class Difference:
    """What the two stores say differently.

    Attributes:
        workspace: its public id.
        month: as in ``2026-07``, of the workspace's zone.
        what: id of the metric, with what was included besides.
        source, target: what each of them says.
    """

    workspace: str
    month: str
    what: str
    source: str
    target: str


class _Settled:
    """The queue as it is for a comparison: nothing waits, so everything is asked of the stores."""

    async def state(self) -> QueueState:
        return QueueState(waiting=0, oldest_received_at=None)


async def differences(
    workspace: Workspace,
    source: Store,
    target: Store,
    registry: Registry,
    *,
    now: datetime,
    told: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[Difference]:
    """Everything the two stores say differently of a workspace.

    Args:
        workspace: whose events.
        source: where they were.
        target: where they are.
        registry: the metrics, those of plugins included.
        now: the instant both are asked at.
        told: hears each month before it is compared.
    """
    for month, span in await _months(workspace, source, target):
        told(month)
        before = await _told(workspace, source, registry, span, now)
        after = await _told(workspace, target, registry, span, now)
        for what, value in before.items():
            if value != after[what]:
                yield Difference(workspace.public_id, month, what, value, after[what])


async def _months(workspace: Workspace, *stores: Store) -> list[tuple[str, Span]]:
    """The months in which either store has events."""
    found = [bounds for store in stores if (bounds := await store.bounds(workspace.id))]
    if not found:
        return []
    first, last = min(first for first, _ in found), max(last for _, last in found)
    return list(months(first, last, workspace.zone))


async def _told(
    workspace: Workspace, store: Store, registry: Registry, span: Span, now: datetime
) -> Mapping[str, str]:
    """What a store says of a month: the number of events, and every metric without and with bots."""
    told = {EVENTS: str(await count(store, scan_of(workspace, span)))}
    questions = Questions(registry.catalog, (EventSource(store, store, _Settled(), registry.models),))
    who = reader_of(workspace, now, "Comparison")
    credit = credit_for(registry.models, Attribution.usual(workspace))
    metrics = tuple(registry.catalog.metrics)
    for ids in (metrics[start : start + AT_ONCE] for start in range(0, len(metrics), AT_ONCE)):
        for bots in (False, True):
            asked = Question(
                ids,
                Range(span, workspace.zone, now),
                credit=credit,
                usual_credit=credit,
                include_bots=bots,
            )
            (row,) = (await questions.ask(who, asked)).rows
            names = (f"{id_} with bots" if bots else id_ for id_ in ids)
            told |= dict(zip(names, map(_said, row.readings), strict=True))
    return told


def _said(reading: Reading) -> str:
    return reading.reason.value if isinstance(reading, Unavailable) else str(reading.value)
