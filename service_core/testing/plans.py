"""Random questions about a generated world, one drawer for each kind of plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

from service_core.commerce.ads.touches import TAGS
from service_core.insight.cohorts.ports import CohortPlan
from service_core.insight.columns import COLUMNS, JOINED
from service_core.insight.dimensions import DIMENSIONS
from service_core.insight.event_names import CONVERSIONS
from service_core.insight.funnels.ports import FunnelOrder, FunnelPlan
from service_core.insight.measures import (
    Difference,
    Leaf,
    Measure,
    Op,
    Operand,
    Predicate,
    Ratio,
    Relation,
    count,
    distinct,
    total,
)
from service_core.insight.orders import MONEY_PARTS
from service_core.insight.people.ports import JourneyPlan, PeoplePage
from service_core.insight.ports import Aggregate, Credit, EventPage, PathPlan, Scan, Sort, Weighting
from service_core.kernel.ranges import Span, Unit
from service_core.kernel.series import cover
from service_core.testing.generated import DAYS, World
from service_core.testing.story import converting

_EVENTS, _SESSIONS, _CONVERSIONS = Relation.EVENTS, Relation.SESSIONS, Relation.CONVERSIONS
_CHARGE: Final = Predicate("kind", value="charge")
LEAVES: Final[Mapping[Relation, Sequence[Leaf]]] = {
    _EVENTS: (
        count(_EVENTS),
        *(distinct(column, _EVENTS) for column in ("visitor_id", "person", "session", "page_path")),
        distinct("person", _EVENTS, Predicate("identified", value=True)),
        count(_EVENTS, Predicate("event_name", Op.IN, ("page_view", "pageview", "$pageview"))),
        count(_EVENTS, Predicate("data:plan", Op.EQ, "pro")),
        count(_EVENTS, Predicate("data:price", Op.GTE, 6)),
        count(_EVENTS, Predicate("data:n.of", Op.IS_SET)),
        total("revenue", _EVENTS, Predicate("revenue", Op.BETWEEN, (0, 1000))),
        *(Leaf(_EVENTS, "person", distinct=True, trailing_days=n) for n in (1, 7, 30)),
    ),
    _SESSIONS: (
        count(_SESSIONS),
        distinct("visitor_id", _SESSIONS),
        *(
            total(column, _SESSIONS)
            for column in (
                "pageviews",
                "events",
                "duration",
                "bounced",
                "engaged",
                "has_cart",
                "has_purchase",
            )
        ),
        total("duration", _SESSIONS, Predicate("pageviews", Op.GTE, 1)),
    ),
    _CONVERSIONS: (
        count(_CONVERSIONS),
        distinct("person", _CONVERSIONS),
        count(_CONVERSIONS, Predicate("event_name", value="purchase")),
    ),
    Relation.MONEY: (
        count(Relation.MONEY, _CHARGE),
        total("amount", Relation.MONEY, _CHARGE, Predicate("currency", value="USD")),
        total("amount", Relation.MONEY, Predicate("kind", value="refund")),
        total("first_order", Relation.MONEY),
        distinct("person", Relation.MONEY, _CHARGE),
        distinct("order_id", Relation.MONEY),
        *(total(part, Relation.MONEY, Predicate("currency", value="USD")) for part in MONEY_PARTS),
        *(count(Relation.MONEY, _CHARGE, Predicate(part, Op.IS_NOT_SET)) for part in MONEY_PARTS),
    ),
    Relation.CREDITS: (
        *(total(column, Relation.CREDITS) for column in ("credit", "order_credit", "amount", "refunded")),
        total("credit", Relation.CREDITS, Predicate("attributed", value=True)),
        total("credit", Relation.CREDITS, Predicate("is_order", value=True)),
        total("credit", Relation.CREDITS, Predicate("first_order", value=True)),
        count(Relation.CREDITS),
    ),
}
_SPLITS: Final = tuple(
    own
    for dimension in DIMENSIONS
    if (
        own := {
            str(of): c for of, c in dimension.columns.items() if of in LEAVES and not c.startswith(JOINED)
        }
    )
)
_COALESCED: Final = {
    _EVENTS: "entry.utm_source|entry.attribution_source",
    Relation.CREDITS: "touch.utm_source|touch.attribution_source",
}
_TEXT_OPS: Final = tuple(op for op in Op if op is not Op.BETWEEN)
_SINGLE: Final = (Op.EQ, Op.NEQ)
_STEPS: Final = (
    frozenset({"page_view", "pageview", "$pageview"}),
    frozenset({"click"}),
    frozenset({"purchase", "order_paid"}),
    frozenset({"$identify"}),
    frozenset({"webinar"}),
)


def scan(random: Random, world: World, **fields: Any) -> Scan:
    """A scan of some days of a world, not always whole ones."""
    first, last = sorted(random.sample(range(-1, DAYS + 2), 2))
    hours = random.choice((0, 0, 5, 13))
    span = Span(world.start + timedelta(days=first, hours=hours), world.start + timedelta(days=last))
    conversions = random.choice((CONVERSIONS, CONVERSIONS, converting(["webinar", "$identify"])))
    plain = {
        "zone": world.zone,
        "conversions": conversions,
        "include_bots": random.random() < 0.2,
        "order_refunds": random.random() < 0.3,
    }
    return world.story.scan(span, **plain | fields)


def aggregate(random: Random, world: World) -> Aggregate:
    """Measures of one to three relations by up to three dimensions, bucketed or not."""
    relations = random.sample(list(LEAVES), random.choice((1, 1, 2, 3)))
    leaves = [_narrowed(random, world, random.choice(LEAVES[random.choice(relations)])) for _ in range(3)]
    splits = tuple(random.sample(_SPLITS, random.choice((0, 1, 1, 2, 3))))
    if random.random() < 0.1:
        splits = (*splits[:2], {str(relation): column for relation, column in _COALESCED.items()})
    looked_at = scan(random, world)
    buckets = None
    if random.random() < 0.5:
        unit = random.choice((Unit.HOUR, Unit.DAY, Unit.DAY, Unit.WEEK, Unit.MONTH))
        buckets = cover(looked_at.span, unit, ZoneInfo(world.zone))
    of = {leaf.of for leaf in leaves}
    if len(of) == 1 and random.random() < 0.3:
        looked_at = replace(looked_at, filters=(_condition(random, world, leaves[0].of),))
    measures = _composed(random, leaves)
    return Aggregate(
        scan=looked_at,
        measures=measures,
        dimensions=splits,
        buckets=buckets,
        order=_order(random, len(measures), len(splits), bucketed=buckets is not None),
        limit=random.choice((None, None, 1, 3)),
        offset=random.choice((0, 0, 0, 2)),
        credit=_credit(random) if Relation.CREDITS in of else None,
    )


def every_column(random: Random, world: World, relation: Relation) -> Aggregate:
    """In how many rows of a relation each of its columns is set."""
    measures = tuple(count(relation, Predicate(column, Op.IS_SET)) for column in sorted(COLUMNS[relation]))
    credit = _credit(random) if relation is Relation.CREDITS else None
    return Aggregate(scan(random, world), measures, credit=credit)


def by_tags(random: Random, world: World) -> Aggregate:
    """Credits by everything that tells which ad a touch came from, and by more."""
    columns = ("touch.channel", "person_is_new", *(f"touch.{tag}" for tag in TAGS))
    dimensions = tuple({str(Relation.CREDITS): column} for column in columns)
    measures = tuple(total(column, Relation.CREDITS) for column in ("credit", "amount"))
    return Aggregate(scan(random, world), measures, dimensions, credit=_credit(random))


def people(random: Random, world: World) -> PeoplePage:
    """A page of persons, searched and filtered now and then."""
    rarely = random.random() < 0.3
    return PeoplePage(
        scan=scan(random, world),
        limit=random.choice((1, 3, 50)),
        offset=random.choice((0, 0, 2)),
        sort=random.choice(("last_seen", "first_seen", "revenue", "events")),
        search=random.choice((None, "a", "U1", "ADA@")) if rarely else None,
        identified=random.choice((None, None, True, False)),
        utm_source=random.choice((None, "google")) if rarely else None,
        country=random.choice((None, "DE")) if rarely else None,
    )


def journey(random: Random, world: World, person: str) -> JourneyPlan:
    """What a person did, all of it or the newest."""
    window = timedelta(days=random.choice((1, 4, 30)))
    return JourneyPlan(scan(random, world), person, window, random.choice((1, 2, 200)))


def page(random: Random, world: World) -> EventPage:
    """A page of events, some of them after a known one."""
    looked_at = scan(random, world)
    if random.random() < 0.5:
        looked_at = replace(looked_at, filters=(_of_event(random, world),))
    known = random.choice(world.story.events) if world.story.events and random.random() < 0.3 else None
    after = (known.timestamp, known.seq) if known else None
    total = random.random() < 0.7
    return EventPage(looked_at, random.choice((1, 5, 100)), random.choice((0, 0, 3)), total, after)


def cohorts(random: Random, world: World) -> CohortPlan:
    """Cohorts of some days or weeks."""
    looked_at, unit = scan(random, world), random.choice((Unit.DAY, Unit.WEEK, Unit.MONTH))
    acquisition = cover(looked_at.span, unit, ZoneInfo(world.zone))
    later = Span(acquisition.starts[0], world.start + timedelta(days=DAYS + 3))
    first = (_touch_condition(random),) if random.random() < 0.3 else ()
    return CohortPlan(
        scan=looked_at,
        acquisition=acquisition,
        activity=cover(later, unit, ZoneInfo(world.zone)),
        by_conversion=random.random() < 0.4,
        event_names=random.choice((None, None, frozenset({"page_view", "purchase"}))),
        first_touch=first,
    )


def funnel(random: Random, world: World) -> FunnelPlan:
    """A funnel of two to five steps; steps may repeat."""
    looked_at = scan(random, world)
    if random.random() < 0.3:
        looked_at = replace(looked_at, filters=(_of_event(random, world),))
    return FunnelPlan(
        scan=looked_at,
        steps=tuple(random.choice(_STEPS) for _ in range(random.randint(2, 5))),
        window=timedelta(days=random.choice((1, 3, 14))),
        now=world.start + timedelta(days=random.choice((4, DAYS, 60))),
        order=random.choice(list(FunnelOrder)),
        by_session=random.random() < 0.3,
        exclude=random.choice((None, None, frozenset({"scroll"}), frozenset({"lead", "refund"}))),
    )


def paths(random: Random, world: World) -> PathPlan:
    """Paths by one or several columns of a touch."""
    keys = (("channel",), ("utm_source|attribution_source", "utm_medium|attribution_medium", "utm_campaign"))
    names = random.choice((None, None, frozenset({"purchase"})))
    return PathPlan(
        scan(random, world), timedelta(days=random.choice((1, 5, 30))), random.choice(keys), names
    )


def _credit(random: Random) -> Credit:
    return Credit(
        weighting=random.choice(list(Weighting)),
        window=timedelta(days=random.choice((1, 4, 30))),
        drop_direct=random.random() < 0.5,
        by_touch=random.random() < 0.3,
        event_names=random.choice((None, None, None, frozenset({"purchase", "signup"}))),
    )


def _narrowed(random: Random, world: World, leaf: Leaf) -> Leaf:
    return leaf.filtered(_condition(random, world, leaf.of)) if random.random() < 0.3 else leaf


def _condition(random: Random, world: World, relation: Relation) -> Predicate:
    """A filter by a dimension of a relation, with a value that is often there."""
    return _condition_on(random, world, random.choice([s[relation] for s in _SPLITS if relation in s]))


def _of_event(random: Random, world: World) -> Predicate:
    """A filter by a column of the event itself."""
    return _condition_on(random, world, random.choice(("event_name", "page_path", "country", "strong_id")))


def _condition_on(random: Random, world: World, column: str) -> Predicate:
    name = column.rpartition(".")[2]
    if name.endswith("_is_new"):
        return Predicate(column, random.choice(_SINGLE), random.random() < 0.5)
    values = {value for event in world.story.events if (value := getattr(event, name, None))}
    return _text_condition(random, column, sorted(values) or ["none"])


def _touch_condition(random: Random) -> Predicate:
    return _text_condition(
        random, random.choice(("channel", "utm_source", "country")), ["google", "direct", "DE"]
    )


def _text_condition(random: Random, column: str, values: Sequence[str]) -> Predicate:
    op, value = random.choice(_TEXT_OPS), random.choice(values)
    operand: Operand = value
    if op in {Op.IN, Op.NOT_IN}:
        operand = (value, random.choice(values), "nobody")
    elif op in {Op.CONTAINS, Op.NOT_CONTAINS, Op.STARTS_WITH, Op.ENDS_WITH}:
        operand = random.choice((value[:2].upper(), value[-2:].lower(), "%", "_"))
    elif op in {Op.IS_SET, Op.IS_NOT_SET}:
        operand = None
    return Predicate(column, op, operand)


def _composed(random: Random, leaves: Sequence[Leaf]) -> tuple[Measure, ...]:
    first, second, third = leaves
    return random.choice(
        (
            (first,),
            (first, second, third),
            (Ratio(first, second), third),
            (Difference(first, second), Ratio(second, third, complement=True)),
        )
    )


def _order(random: Random, measures: int, splits: int, *, bucketed: bool) -> tuple[Sort, ...]:
    keys = [*(f"m{i}" for i in range(measures)), *(f"d{i}" for i in range(splits)), *["bucket"][:bucketed]]
    chosen = random.sample(keys, min(len(keys), random.choice((0, 1, 2))))
    return tuple(Sort(key, descending=random.random() < 0.5) for key in chosen)
