"""MONEY: charges, one per order, and refunds, each with the instant it is booked on.

Which report of an order counts is said in `orders`, what money is worth in another currency in `worth`.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.conditions import Expression
from plugins.events_sql.facts import charge_or_refund
from plugins.events_sql.orders import ORDER_IDS, is_tracked, repeated, report, worked_out_once
from plugins.events_sql.prepared import START, UNTIL, WORKSPACE, Derived, source, told
from plugins.events_sql.relations import Rows, between, column_of, looked_through, needed, told_of, within
from plugins.events_sql.stitching import person_names, person_of, persons_first_seen
from plugins.events_sql.worth import TOLD, is_foreign
from plugins.events_sql.worth import told as told_in
from service_core.plugin import CHARGE, CHARGE_PARTS, MONEY_PARTS, REPEAT, TRACKED, Scan, Span

RATED_AT: Final = "rated_at"
"""When money moved as far as rates go: for a refund, when its order did."""

_MONEY: Final = ("amount", "gross", "discount", "tax", "shipping", "fee")


class MoneyRows(Rows):
    """MONEY."""

    def __init__(self, scan: Scan, span: Span, *, whole: bool = False, few: bool = False) -> None:
        ledger = _ledger(scan, span, whole=whole, few=few)
        known = [name for name in _MONEY if name in ledger.c]
        self.table = told_in(ledger, scan, scan.rates, RATED_AT, known) if scan.rates else ledger
        self.at = self.table.c.booked
        super().__init__(scan)
        self.where += between(self.at, span)

    def key(self, name: str) -> Expression:
        """Numbers stand for persons."""
        return self.person_no if name == "person" else self.column(name)

    def single(self, name: str) -> Expression:
        """A fact of the ledger, or something about its person."""
        if name == "person":
            return person_names(self, self.person_no)
        if name == "person_is_new":
            return self._is_new_person()
        if name == "no_rate":
            return self.has_no_rate
        if self.scan.rates and name in _MONEY:
            return column_of(self.table, f"{TOLD}{name}")
        if name not in {"kind", "amount", *MONEY_PARTS, "currency", "provider", "order_id", "first_order"}:
            return super().single(name)
        return column_of(self.table, name)

    @property
    def amount(self) -> Expression:
        """How much moved, in the scan's currency where there is a rate."""
        return self.single("amount")

    @property
    def has_no_rate(self) -> Expression:
        """Whether money is of another currency and no rate turns it into the scan's."""
        if self.scan.rates:
            return column_of(self.table, "no_rate")
        return is_foreign(self.table.c.currency, self.scan)

    def _is_new_person(self) -> Expression:
        number = self.person_no
        first = self.join(
            "person_first", lambda: persons_first_seen(self.scan), lambda p: p.c.person_no == number
        )
        return within(first.c.first_at, self.scan.span)


def _ledger(scan: Scan, span: Span, *, whole: bool, few: bool) -> Derived:
    """Charges, one per order, and refunds, each with the instant it is booked on.

    A week back is looked at for repeats, everything for first orders and for refunds booked on their order
    or worth what that was worth.
    """
    looked = Span(span.start - REPEAT, span.end)
    shape = scan.order_refunds, whole, few, scan.rates is not None
    return source(_booked, *shape).under("ledger", **told(scan, looked))


def _booked(order_refunds: bool, whole: bool, few: bool, rated: bool) -> sa.Select[Any]:
    table, names = looked_through(few), (*needed(frozenset()), *told_of(few))
    c, since = table.c, None if whole or order_refunds or rated else START
    kind = charge_or_refund(c)
    reported = report(c, kind)
    others = (c[name] for name in names if name not in {"seq", "timestamp", *ORDER_IDS})
    within = [] if since is None else [c.timestamp >= since, c.timestamp < UNTIL]
    moving = sa.select(*reported, *others).where(c.workspace_id == WORKSPACE, c.revenue.is_not(None), *within)
    moved = worked_out_once(moving, "moved")
    counts = moved.c.seq.not_in(repeated(moved, again=CHARGE))
    own = (moved.c[name] for name in names)
    counted = (
        sa.select(*own, moved.c.what.label("kind"), counts.label("counts"))
        .where(moved.c.what.is_not(None))
        .subquery()
    )
    is_charge = counted.c.kind == CHARGE
    kept = sa.and_(is_charge, counted.c.counts)
    order_at = sa.case((sa.not_(is_charge), _paid_before(counted.c, kept)))
    of_order_else_own = sa.func.coalesce(order_at, counted.c.timestamp)
    booked = of_order_else_own if order_refunds else counted.c.timestamp
    rated_at = [of_order_else_own.label(RATED_AT)] if rated else []
    listed = sa.select(counted, booked.label("booked"), *rated_at).subquery()
    facts = sa.select(
        *(listed.c[name] for name in names if name not in {"source", *CHARGE_PARTS}),
        listed.c.kind,
        listed.c.booked,
        *(listed.c[column.name] for column in rated_at),
        sa.func.abs(listed.c.revenue, type_=sa.BigInteger).label("amount"),
        *_parts(listed.c),
        sa.case((is_tracked(listed.c), sa.literal(TRACKED)), else_=listed.c.source).label("provider"),
    ).where(listed.c.counts)
    return _with_first_orders(facts.subquery("ledger")) if whole else facts


def _paid_before(c: Any, kept: Expression) -> Expression:
    """When the latest charge of the order of each movement was, by the id of the order or of its payment."""

    def of(id_: Expression) -> Expression:
        latest = sa.func.max(sa.case((kept, c.timestamp))).over(
            partition_by=id_, order_by=(c.timestamp, c.seq), rows=(None, 0)
        )
        return sa.case((id_.is_not(None), latest))

    of_order, of_payment = of(c.order_id), of(c.payment_id)
    later = sa.or_(of_order.is_(None), of_payment > of_order)
    return sa.case((later, of_payment), else_=of_order)


def _parts(c: Any) -> list[Expression]:
    """What the money of a charge consists of: the rule of `insight.orders.parts_of`."""
    tracked, charge, nothing = is_tracked(c), c.kind == CHARGE, sa.literal_column("0", sa.BigInteger)
    told = {"gross": c.revenue + c.discount, **{name: c[name] for name in CHARGE_PARTS}}
    own = {"gross": c.revenue, **dict.fromkeys(CHARGE_PARTS, nothing)}
    return [
        sa.case((sa.and_(charge, tracked), own[name]), (charge, told[name])).label(name)
        for name in MONEY_PARTS
    ]


def _with_first_orders(ledger: sa.Subquery) -> sa.Select[Any]:
    joined, number = person_of(ledger)
    place = sa.func.row_number().over(
        partition_by=(ledger.c.kind, number), order_by=(ledger.c.timestamp, ledger.c.seq)
    )
    first = sa.and_(ledger.c.kind == CHARGE, place == 1)
    return sa.select(ledger, first.label("first_order")).select_from(joined)
