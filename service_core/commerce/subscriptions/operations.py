"""`GET /subscriptions` (contract 4.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.commerce.subscriptions.answer import SubscriptionRow, Subscriptions
from service_core.commerce.subscriptions.model import SubscriptionState, SubscriptionStatus
from service_core.commerce.subscriptions.ports import SubscriptionPage, SubscriptionStore
from service_core.commerce.subscriptions.standing import Stance, Standing, month_of
from service_core.commerce.subscriptions.summary import METRICS, Summing
from service_core.insight.people.ports import Origin, People
from service_core.insight.query.questions import Questions
from service_core.kernel.date_range import DateRange, RangeAnswer, between
from service_core.kernel.money import to_major
from service_core.kernel.operations import operation
from service_core.kernel.paging import Cursor, binding, seal, unseal
from service_core.kernel.params import Clamp, QueryModel
from service_core.kernel.ranges import Range
from service_core.kernel.together import together

_PERSONAL: Final = ("user_id", "visitor_id")
"""Ids a person is found by, the first that is known: a device may be somebody else's later, and the user stays."""

_NOBODY: Final = Origin(None, None)


class SubscriptionsQuery(QueryModel):
    """Parameters of `GET /subscriptions`; without a range, the last 30 days."""

    start_date: str | None = Field(default=None, description="Start, inclusive; goes with `end_date`.")
    end_date: str | None = Field(default=None, description="End, inclusive.")
    provider: str | None = Field(default=None, description="Subscriptions of one provider.")
    status: SubscriptionStatus | None = Field(
        default=None, description="Lists those that stood so at the end of the range; the summary is of all."
    )
    limit: Annotated[int, Clamp(1, 200)] = 50
    cursor: str | None = Field(default=None, description="`next_cursor` of the page before.")

    def asked(self, who: Caller) -> Range:
        """The range, or the last 30 days.

        Raises:
            BadRequest: one date without the other, one that does not parse, or the start after the end.
        """
        if self.start_date is None and self.end_date is None:
            return DateRange(preset="last_30_days").resolve(who.workspace.zone, who.now, None)
        return between(self.start_date, self.end_date, who.workspace.zone, who.now)

    def binding(self, who: Caller) -> bytes:
        """What a cursor of this request is bound to."""
        sent = self.model_dump(mode="json", exclude={"cursor"})
        return binding("subscriptions", str(who.workspace.id), sent)


@operation("GET /subscriptions", tag="marketing")
async def get_subscriptions(
    query: SubscriptionsQuery, *, who: Caller, questions: Questions, store: SubscriptionStore, people: People
) -> Subscriptions:
    """Subscriptions alive at any time in the range, and what all of them come to at its end.

    What is known of a subscription begins with the first message that names its price. Null is what is not
    known; `unavailable` says why.
    """
    cursor = unseal(query.cursor, query.binding(who)) if query.cursor else Cursor(0, who.now)
    who = replace(who, now=cursor.asked_at)
    asked = query.asked(who)
    end = min(asked.span.end, who.now + datetime.resolution)
    page = SubscriptionPage(
        who.workspace.id, asked.span.start, end, query.limit + 1, cursor.offset, query.provider, query.status
    )
    found, (summary, unavailable), complete = await together(
        store.subscriptions(page),
        Summing(questions, store, who, asked, query.provider).summary(end),
        questions.complete(who, asked, METRICS, {"provider": query.provider}),
    )
    listed = found[: query.limit]
    origins = await people.origins(who.workspace.id, {id_ for stance in listed for id_ in _ids(stance.state)})
    following = Cursor(cursor.offset + len(listed), cursor.asked_at)
    return Subscriptions(
        summary=summary,
        subscriptions=_rows(listed, origins),
        next_cursor=seal(following, query.binding(who)) if len(found) > len(listed) else None,
        currency=who.workspace.currency,
        unavailable=unavailable,
        range=RangeAnswer.of(asked),
        complete=complete,
    )


def _ids(state: SubscriptionState) -> list[str]:
    """The ids its person may be known by, the best first."""
    told = dict(state.identity)
    return [told[name] for name in _PERSONAL if told.get(name)]


def _rows(listed: Sequence[Stance], origins: Mapping[str, Origin]) -> list[SubscriptionRow]:
    known = ((stance, [origins[id_] for id_ in _ids(stance.state) if id_ in origins]) for stance in listed)
    return [_row(stance, found[0] if found else _NOBODY) for stance, found in known]


def _row(stance: Stance, origin: Origin) -> SubscriptionRow:
    state, touch = stance.state, origin.first_touch
    told = {name: getattr(state, name) for name in SubscriptionRow.model_fields if hasattr(state, name)}
    return SubscriptionRow.model_validate(
        {
            **told,
            "id": state.subscription_id,
            "status": stance.status,
            "amount": _major(state, None if state.amount is None else state.amount * state.quantity),
            "interval": _interval(state),
            "mrr": _mrr(stance),
            "user_id": origin.user_id,
            "attribution_source": touch.source if touch else None,
            "utm_campaign": touch.campaign if touch else None,
        }
    )


def _mrr(stance: Stance) -> float | None:
    """What it is worth a month; unknown, and not nothing, while it is alive and nobody named a price."""
    is_unknown = month_of(stance.state) is None and stance.standing is not Standing.ENDED
    return None if is_unknown else _major(stance.state, round(stance.worth))


def _major(state: SubscriptionState, units: int | None) -> float | None:
    return None if units is None or state.currency is None else float(to_major(units, state.currency))


def _interval(state: SubscriptionState) -> str | None:
    if state.interval is None or state.interval_count == 1:
        return state.interval
    return f"{state.interval_count} {state.interval}s"


OPERATIONS = (get_subscriptions,)
