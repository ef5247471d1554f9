"""`GET /revenue`: what each provider and tracked events say was earned (contract 3.14)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pydantic import AliasChoices, Field

from service_core.access.model import Caller
from service_core.commerce.revenue.answer import Revenue, RevenueFigures, RevenueRow
from service_core.insight.connections.model import Connection, ConnectionStatus, ProviderKind
from service_core.insight.connections.ports import Connections
from service_core.insight.metric_values import not_measured
from service_core.insight.orders import TRACKED
from service_core.insight.query.formula import rounded
from service_core.insight.query.question import Filter, Order, Question
from service_core.insight.query.questions import Questions
from service_core.insight.query.requested import RefundBasis
from service_core.insight.range_query import RangeQuery
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.operations import operation
from service_core.kernel.ranges import Range
from service_core.kernel.reading import Reading, Reason, Unavailable
from service_core.kernel.together import together

_FIELDS: Final = tuple(RevenueFigures.model_fields)
_METRICS: Final = tuple("new_subscriptions" if name == "subscriptions" else name for name in _FIELDS)
"""The metric whose value each field has."""

_NEVER_TOLD: Final = (Unavailable(Reason.NO_REVENUE_PROVIDER),) * len(_METRICS)
_BY_NAME: Final = (Order("provider", descending=False),)


class RevenueQuery(RangeQuery):
    """Parameters of `GET /revenue`."""

    provider: Literal["stripe", "shopify", "superwall", "revenuecat"] | None = Field(
        default=None,
        validation_alias=AliasChoices("provider", "platform"),
        description="One provider; default all of them and what was tracked.",
    )
    refund_basis: RefundBasis = Field(
        "refund", description="Book a refund on its own day or on that of its order."
    )

    def question(self, asked: Range) -> Question:
        """Everything asked for, as one row."""
        narrowed = (Filter("provider", value=self.provider),) if self.provider else ()
        return Question(
            _METRICS,
            asked,
            filters=narrowed,
            order_refunds=self.refund_basis == "order",
            include_bots=self.include_bots,
        )


@operation("GET /revenue", tag="marketing")
async def get_revenue(
    query: RevenueQuery, *, who: Caller, connections: Connections, questions: Questions
) -> Revenue:
    """Revenue, orders, new subscriptions and refunds by provider, and of all together.

    An order that several report counts once: a storefront's word goes before that of a payment provider,
    and both before what was tracked. Null is what is not known; `unavailable` says why.
    """
    asked = query.asked(who)
    question = query.question(asked)
    known, table, whole, nothing, complete = await together(
        connections.connections(who.workspace.id),
        questions.ask(who, replace(question, dimensions=("provider",), order=_BY_NAME)),
        questions.ask(who, question),
        questions.nothing(who, question),
        questions.complete(who, asked, _METRICS, question.held),
    )
    told = {row.labels[0]: row.readings for row in table.rows}
    platforms = dict(_platforms(query, known, told))
    written = _Written(questions, who.workspace.currency)
    combined = whole.rows[0].readings if platforms else _NEVER_TOLD
    rows = [
        written.row(platform, connection, told.get(platform, nothing))
        for platform, connection in platforms.items()
    ]
    return Revenue(
        platforms=sorted(rows, key=_place),
        combined=RevenueFigures(**written.figures(combined)),
        refund_basis=query.refund_basis,
        currency=who.workspace.currency,
        timezone=asked.zone.key,
        unavailable=not_measured(_FIELDS, combined),
        range=RangeAnswer.of(asked),
        complete=complete,
    )


def _platforms(
    query: RevenueQuery, known: Sequence[Connection], told: Mapping[str, Any]
) -> Iterator[tuple[str, Connection | None]]:
    """Who is measured: providers that are or were read, those whose money is there, and tracked events."""
    ours = {one.provider: one for one in known if one.kind is ProviderKind.REVENUE}
    for name in dict.fromkeys((*ours, *told)):
        connection = ours.get(name)
        is_read = connection is not None and (connection.is_live or connection.is_broken)
        if name != TRACKED and query.provider in (None, name) and (is_read or name in told):
            yield name, connection
    if query.provider is None:
        yield TRACKED, None


@dataclass(frozen=True, slots=True)
class _Written:
    """How readings are shown."""

    questions: Questions
    currency: str

    def figures(self, readings: Sequence[Reading]) -> dict[str, Any]:
        """Readings as the fields of an answer."""
        metrics = self.questions.named(_METRICS)
        return {
            field: rounded(reading, metric, self.currency)
            for field, metric, reading in zip(_FIELDS, metrics, readings, strict=True)
        }

    def row(self, platform: str, connection: Connection | None, readings: Sequence[Reading]) -> RevenueRow:
        """What a provider told; one whose money is there without a connection was disconnected."""
        absent = ConnectionStatus.CONNECTED if platform == TRACKED else ConnectionStatus.DISCONNECTED
        return RevenueRow(
            platform=platform,
            currency=self.currency,
            status=connection.status if connection else absent,
            last_synced_at=connection.last_synced_at if connection else None,
            **self.figures(readings),
        )


def _place(row: RevenueRow) -> tuple[Any, ...]:
    """Most revenue first, what is not known last, then by name."""
    return row.revenue is None, -(row.revenue or 0), row.platform


OPERATIONS = (get_revenue,)
