"""CREDITS: conversions and money shared out over touches, inside the engine (semantics 8, 9).

Whole numbers are split by largest remainder, ties to the earlier touch, so parts always add up.
Weights are whole numbers too, except those of decay.
"""

from fractions import Fraction
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.periods import micros_of
from plugins.events_sql.prepared import Derived, parameter, source
from plugins.events_sql.reach import read_by, seen
from plugins.events_sql.relations import Rows, between, within
from plugins.events_sql.stitching import persons_first_seen
from plugins.events_sql.touches import COLUMNS, touches
from plugins.events_sql.units import UNIT, units
from plugins.events_sql.worth import is_foreign
from service_core.plugin import Credit, Scan, Span, Weighting

TOUCH: Final = "touch."
_SHARED: Final = ("credit", "order_credit", "amount", "refunded")
_EXACT: Final = 10**9
_HALF_LIFE: Final = parameter("half_life", sa.Double())


class CreditRows(Rows):
    """CREDITS."""

    def __init__(self, scan: Scan, span: Span, rule: Credit, *, whole: bool) -> None:
        self.table = shares(scan, span, rule, whole=whole)
        self.at = self.table.c.at
        super().__init__(scan)
        self.where += between(self.at, span)

    def single(self, name: str) -> Expression:
        """A column of the touch, or a fact of the unit that is shared."""
        if name.startswith(TOUCH):
            column = name.removeprefix(TOUCH)
            return self.table.c[f"touch_{column}"] if column in COLUMNS else super().single(name)
        if name == "person_is_new":
            first = self.join(
                "person_first",
                lambda: persons_first_seen(self.scan),
                lambda p: p.c.person_no == self.table.c.person_no,
            )
            return within(first.c.first_at, self.scan.span)
        if name == "no_rate":
            return is_foreign(self.table.c.currency, self.scan)
        known = {*_SHARED, "attributed", "is_order", "first_order", "event_name", "currency"}
        return self.table.c[name] if name in known else super().single(name)


def shares(scan: Scan, span: Span, rule: Credit, *, whole: bool) -> Derived:
    """One row per unit and touch with a share in it, or one without a touch.

    All columns of a touch and all numbers are there, whatever is asked for, so that there is one source
    for each rule; engines leave out what nobody reads.

    Args:
        scan: the workspace, and what converts.
        span: what is looked at.
        rule: how a unit is shared out.
        whole: tell first orders too, so look at all time.
    """
    looked = Span(span.start, span.end + rule.window) if rule.by_touch else span
    unit = units(scan, looked, rule, whole=whole)
    touch = touches(scan, of=unit)
    split = Split(rule.weighting, rule.drop_direct, rule.by_touch, rule.ends_share)
    values = {
        "workspace": scan.workspace_id,
        "within": micros_of(rule.window),
        "half_life": float(micros_of(rule.half_life)),
    }
    return source(_shares, split).under("credits", *read_by(unit, touch), **values)


class Split(NamedTuple):
    """How a rule shares out, whatever the lengths of time it goes by."""

    weighting: Weighting
    drop_direct: bool
    by_touch: bool
    ends_share: float


def _shares(rule: Split) -> sa.Select[Any]:
    unit, shared = UNIT, _split(_paths(rule), rule)
    at = sa.func.coalesce(shared.c.touch_at, unit.c.booked) if rule.by_touch else unit.c.booked
    columns = [shared.c[f"touch_{name}"] for name in COLUMNS]
    parts = [sa.func.coalesce(shared.c[f"part_{name}"], unit.c[name]).label(name) for name in _SHARED]
    facts = [unit.c[name] for name in ("person_no", "event_name", "currency", "is_order", "first_order")]
    attributed = shared.c.unit.is_not(None).label("attributed")
    return sa.select(at.label("at"), *columns, *parts, *facts, attributed).select_from(
        unit.outerjoin(shared, shared.c.unit == unit.c.unit)
    )


def _paths(rule: Split) -> Derived:
    """The touches in the window of every unit, with their place in the path."""
    touched = source(seen, UNIT.name, "touches", COLUMNS, ("has_path", *_SHARED)).under("reached")
    every = sa.func.bool_and(touched.c.is_direct).over(partition_by=touched.c.unit)
    counts = sa.or_(sa.not_(touched.c.is_direct), every).label("counts")
    met = touched.wider("met", counts, where=[touched.c.has_path])
    together: Any = {"partition_by": met.c.unit}
    in_time = (met.c.touch_at, met.c.touch_seq)
    return met.wider(
        "path",
        sa.func.row_number().over(**together, order_by=in_time).label("place"),
        sa.func.count().over(**together).label("n"),
        sa.func.min(met.c.waited).over(**together).label("least"),
        where=[met.c.counts] if rule.drop_direct else [],
    )


def _split(path: Derived, rule: Split) -> Derived:
    """The part of every touch in each number of its unit."""
    if rule.weighting in {Weighting.FIRST, Weighting.LAST}:
        chosen = 1 if rule.weighting is Weighting.FIRST else path.c.n
        parts = [path.c[name].label(f"part_{name}") for name in _SHARED]
        return path.wider("shared", *parts, where=[path.c.place == chosen])
    weighted = path.wider("weighted", _weight(path.c, rule).label("weight"))
    whole = sa.func.sum(weighted.c.weight).over(partition_by=weighted.c.unit).label("whole")
    summed = weighted.wider("summed", whole, where=[weighted.c.weight > 0])
    floors = summed.wider(
        "floors",
        *(sa.func.floor(_quota(summed.c, name, rule)).label(f"floor_{name}") for name in _SHARED),
        *(_rest(summed.c, name, rule).label(f"rest_{name}") for name in _SHARED),
    )
    return floors.wider("shared", *(_part(floors.c, name).label(f"part_{name}") for name in _SHARED))


def _weight(columns: Any, rule: Split) -> Expression:
    if rule.weighting is Weighting.DECAY:
        halves = sa.cast(columns.waited - columns.least, sa.Double) / _HALF_LIFE
        return sa.func.pow(sa.literal(0.5, sa.Double), halves, type_=sa.Double)
    if rule.weighting is Weighting.ENDS:
        share = Fraction(rule.ends_share).limit_denominator(_EXACT)
        ends = sa.literal(share.numerator) * (columns.n - 2)
        middle = sa.literal(share.denominator - 2 * share.numerator)
        at_end = sa.or_(columns.place == 1, columns.place == columns.n)
        return sa.case((columns.n <= 2, sa.literal(1)), (at_end, ends), else_=middle)  # noqa: PLR2004 - a middle needs three
    return sa.literal_column("1", sa.BigInteger)


def _quota(columns: Any, name: str, rule: Split) -> Expression:
    if rule.weighting is Weighting.DECAY:
        share: Expression = columns[name] * columns.weight / columns.whole
        return share
    return fn.WideQuotient(fn.Huge(columns[name]) * columns.weight, columns.whole)


def _rest(columns: Any, name: str, rule: Split) -> Expression:
    if rule.weighting is Weighting.DECAY:
        quota = _quota(columns, name, rule)
        return fn.Rounded(quota - sa.func.floor(quota))
    return sa.func.mod(fn.Huge(columns[name]) * columns.weight, columns.whole)


def _part(columns: Any, name: str) -> Expression:
    """The floor, and one more for the largest rests until nothing is left over."""
    floor = columns[f"floor_{name}"]
    left = columns[name] - sa.func.sum(floor).over(partition_by=columns.unit)
    rank = sa.func.row_number().over(
        partition_by=columns.unit, order_by=(columns[f"rest_{name}"].desc(), columns.place)
    )
    return sa.cast(floor, sa.BigInteger) + sa.case((rank <= left, 1), else_=0)
