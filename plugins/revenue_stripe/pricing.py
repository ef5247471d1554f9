"""Price of all items of a subscription, per interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from service_core.plugin import Interval, MessageFields

_MONTHS_PER_INTERVAL: Final = {
    Interval.DAY: Fraction(12, 365),
    Interval.WEEK: Fraction(12, 52),
    Interval.MONTH: Fraction(1),
    Interval.YEAR: Fraction(12),
}
_INTERVALS: Final = {interval.value: interval for interval in _MONTHS_PER_INTERVAL}
_HUNDRED_PERCENT: Final = Decimal(100)


@dataclass(frozen=True, slots=True)
class SubscriptionPrice:
    """A price for ``count`` intervals, in Stripe's units; None where it is not said."""

    amount: Decimal | None
    interval: Interval | None
    count: int
    quantity: int


@dataclass(frozen=True, slots=True)
class _RecurringItem:
    unit: Decimal | None
    interval: Interval
    count: int
    quantity: int

    @property
    def months(self) -> Fraction:
        return _MONTHS_PER_INTERVAL[self.interval] * self.count


def price_subscription_after_lasting_discounts(subscription: MessageFields) -> SubscriptionPrice:
    """Returns the price of a subscription after discounts that last forever, without metered prices.

    Several items, and units with fractions of a cent, become one price for the interval of the first item.
    """
    item_fields = subscription.object("items").objects("data")
    items = [item for fields in item_fields if (item := _parse_recurring_item(fields)) is not None]
    if not items:
        return SubscriptionPrice(None, None, 1, 1)
    first = items[0]
    share, off = _share_left_and_amount_off_forever(subscription)
    units = [item.unit for item in items if item.unit is not None]
    if len(units) < len(items):
        return SubscriptionPrice(None, first.interval, first.count, 1)
    discounted_unit = units[0] * share
    if len(items) == 1 and not off and discounted_unit == discounted_unit.to_integral_value():
        return SubscriptionPrice(discounted_unit, first.interval, first.count, first.quantity)
    return SubscriptionPrice(
        max(_total_per_interval_of_first_item(items, units) * share - off, Decimal(0)),
        first.interval,
        first.count,
        1,
    )


def _total_per_interval_of_first_item(
    items: Sequence[_RecurringItem], unit_prices: Sequence[Decimal]
) -> Decimal:
    """Returns the total of all items, converted to the interval of the first one."""
    shares = [items[0].months / item.months for item in items]
    total = sum(
        (
            Fraction(unit) * item.quantity * share
            for item, unit, share in zip(items, unit_prices, shares, strict=True)
        ),
        Fraction(0),
    )
    return Decimal(total.numerator) / Decimal(total.denominator)


def _parse_recurring_item(subscription_item: MessageFields) -> _RecurringItem | None:
    """Returns a recurring item; None for any other. Metered items cost 0."""
    price = subscription_item.object("price")
    recurring = price.object("recurring")
    interval = _INTERVALS.get(recurring.text("interval") or "")
    count, quantity = recurring.number("interval_count"), subscription_item.number("quantity")
    if interval is None or (count is not None and count < 1):
        return None
    metered = recurring.text("usage_type") == "metered"
    unit = (
        price.number("unit_amount_decimal")
        if price.number("unit_amount") is None
        else price.number("unit_amount")
    )
    return _RecurringItem(
        unit=Decimal(0) if metered else unit,
        interval=interval,
        count=1 if count is None else int(count),
        quantity=1 if metered or quantity is None else max(int(quantity), 0),
    )


def _share_left_and_amount_off_forever(subscription: MessageFields) -> tuple[Decimal, Decimal]:
    """Returns the share of the price left by percentage discounts, and the amount off; only coupons that last forever count."""
    share, off = Decimal(1), Decimal(0)
    for discount in (subscription.object("discount"), *subscription.objects("discounts")):
        coupon = discount.object("coupon")
        if not coupon.values:
            coupon = discount.object("source").object("coupon")
        if coupon.text("duration") != "forever":
            continue
        percent = coupon.number("percent_off")
        share *= 1 - min(max(percent or Decimal(0), Decimal(0)), _HUNDRED_PERCENT) / _HUNDRED_PERCENT
        off += max(coupon.number("amount_off") or Decimal(0), Decimal(0))
    return share, off
