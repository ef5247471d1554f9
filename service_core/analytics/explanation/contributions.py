"""Splits the change of a metric into contributions of groups that add up to it exactly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

from service_core.analytics.query.models import OTHER_GROUP_LABEL

SEVERAL_GROUPS_LABEL: Final = "(several groups)"
"""Label of what counts in several groups, such as a visitor with two sources: the change minus those of all groups."""

Kind = Literal["appeared", "vanished", "grew", "shrank"]


@dataclass(frozen=True, slots=True)
class GroupValue:
    """A group in one range. The value of a ratio is ``amount / base``; of any other metric it is ``amount``.

    Attributes:
        value: the value that is shown; None for a division by zero.
        base: the denominator of a ratio; None for other metrics.
    """

    value: Fraction | None
    amount: Fraction
    base: Fraction | None = None


NO_AMOUNT: Final = GroupValue(Fraction(0), Fraction(0))
NO_RATIO: Final = GroupValue(None, Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a group adds to a change.

    Attributes:
        before, after: values of the group; None if it has none.
        amount: the contribution.
        rate: the part of it that comes from another ratio inside of the group.
    """

    label: str
    before: Fraction | None
    after: Fraction | None
    amount: Fraction
    rate: Fraction = Fraction(0)

    @property
    def kind(self) -> Kind:
        """What happened to the group."""
        if not self.before and self.after:
            return "appeared"
        if self.before and not self.after:
            return "vanished"
        return "grew" if self.amount > 0 else "shrank"


def attribute_change_to_groups(
    before: Mapping[str, GroupValue],
    after: Mapping[str, GroupValue],
    total_before: GroupValue,
    total_after: GroupValue,
) -> list[Contribution]:
    """Returns the contributions of all groups, the largest first; they add up to the change of the total."""
    absent = NO_AMOUNT if total_before.base is None else NO_RATIO
    pairs = {
        label: (before.get(label, absent), after.get(label, absent))
        for label in dict.fromkeys((*before, *after))
    }
    contributions = [
        _contribution_to_sum(label, *pair)
        if total_before.base is None
        else _rate_and_mix_contribution_to_ratio(label, pair, (total_before, total_after))
        for label, pair in pairs.items()
    ]
    change = (total_after.value or Fraction(0)) - (total_before.value or Fraction(0))
    rest = change - sum(each.amount for each in contributions)
    if rest:
        contributions.append(Contribution(SEVERAL_GROUPS_LABEL, None, None, rest))
    return sorted((each for each in contributions if each.amount), key=lambda c: (-abs(c.amount), c.label))


def _contribution_to_sum(label: str, before: GroupValue, after: GroupValue) -> Contribution:
    return Contribution(label, before.value, after.value, after.amount - before.amount)


def _rate_and_mix_contribution_to_ratio(
    label: str, pair: tuple[GroupValue, GroupValue], totals: tuple[GroupValue, GroupValue]
) -> Contribution:
    """Returns the contribution of a group to a ratio: its own rate at its mean share, and its share at the mean rate.

    A larger share of a group raises a ratio by as much as the group lies above the total.
    """
    bases = [total.base or Fraction(1) for total in totals]
    shares = [(group.base or Fraction(0)) / base for group, base in zip(pair, bases, strict=True)]
    parts = [group.amount / base for group, base in zip(pair, bases, strict=True)]
    mean_total = sum((total.value or Fraction(0) for total in totals), Fraction(0)) / 2
    amount = parts[1] - parts[0] - mean_total * (shares[1] - shares[0])
    before, after = (group.value for group in pair)
    rate = Fraction(0) if before is None or after is None else (shares[0] + shares[1]) / 2 * (after - before)
    return Contribution(label, before, after, amount, rate)


def keep_largest_and_sum_rest(contributions: Sequence[Contribution], limit: int) -> list[Contribution]:
    """Returns the largest contributions, and the sum of the others as one group."""
    kept, others = list(contributions[:limit]), contributions[limit:]
    if others:
        amount = sum((each.amount for each in others), Fraction(0))
        rate = sum((each.rate for each in others), Fraction(0))
        kept.append(Contribution(OTHER_GROUP_LABEL, None, None, amount, rate))
    return kept


def round_contributions_to_sum(
    contributions: Sequence[Contribution], change_units: int, units: int
) -> list[Contribution]:
    """Returns the contributions in whole units that add up to the rounded change.

    What rounding leaves is added to the largest contribution.

    Args:
        contributions: the largest first.
        change_units: the rounded change, in units.
        units: how many units make one.
    """
    rounded = [replace(each, amount=Fraction(round(each.amount * units))) for each in contributions]
    left = change_units - sum(each.amount for each in rounded)
    if not left:
        return rounded
    if not rounded:
        return [Contribution(SEVERAL_GROUPS_LABEL, None, None, Fraction(left))]
    return [replace(rounded[0], amount=rounded[0].amount + left), *rounded[1:]]
