"""Funnels, retention and lifetime value of the truth, by the definitions of the semantics."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

import polars as pl

from tests.assistant.calendar_days import NOW, ZONE
from tests.assistant.metrics import is_in, net_cents
from tests.assistant.oracle import SYSTEM, half_even, ratio

# Funnels


def _attempts(events, steps, window, order, days, entry):
    """Times of the steps of each attempt, in the order of their starts."""
    for index, event in enumerate(events):
        if event["name"] != steps[0] or not is_in(event["at"], days) or not entry(event):
            continue
        reached, place = [event["at"]], index
        for name in steps[1:]:
            later = range(place + 1, len(events))
            if order == "strict":
                later = [i for i in later if not events[i]["name"].startswith(SYSTEM)][:1]
            limit = event["at"] + window
            place = next((i for i in later if events[i]["name"] == name and events[i]["at"] <= limit), None)
            if place is None:
                break
            reached.append(events[place]["at"])
        yield reached


def funnel(t, steps, days, window=14, order="ordered", unit="person", entry=lambda _: True):
    """Deepest attempt of each unit that enters."""
    column = "person" if unit == "person" else "session"
    rows = t.reports.filter(pl.col(column).is_not_null())
    found = []
    for group in rows.partition_by(column, maintain_order=True):
        events = group.to_dicts()
        attempts = list(_attempts(events, steps, timedelta(days=window), order, days, entry))
        if attempts:
            found.append(max(attempts, key=len))
    return found


def funnel_counts(t, steps, days, **options):
    found = funnel(t, steps, days, **options)
    return [sum(len(times) > step for times in found) for step in range(len(steps))]


def funnel_any_order(t, steps, days, window=14):
    found = []
    for group in t.events.partition_by("person", maintain_order=True):
        events = [(row["at"], row["name"]) for row in group.iter_rows(named=True) if row["name"] in steps]
        starts = [at for at, _ in events if is_in(at, days)]
        depth = [
            len({name for at, name in events if start <= at <= start + timedelta(days=window)})
            for start in starts
        ]
        found += [max(depth)] if depth else []
    return [sum(depth > step for depth in found) for step in range(len(steps))]


def funnel_seconds(t, steps, days, step, pick):
    """Median or mean seconds from the previous step."""
    taken = [
        (times[step] - times[step - 1]).total_seconds()
        for times in funnel(t, steps, days)
        if len(times) > step
    ]
    return half_even(Fraction(pick(taken)), 3) if taken else None


# Cohorts


def _period(day, unit):
    return (
        day - timedelta(days=day.weekday())
        if unit == "week"
        else day.replace(day=1)
        if unit == "month"
        else day
    )


def _difference(later, earlier, unit):
    if unit == "month":
        return (later.year - earlier.year) * 12 + later.month - earlier.month
    return (later - earlier).days // (7 if unit == "week" else 1)


def _ended(start, k, unit):
    """Whether a period has fully ended."""
    if unit == "month":
        months = start.year * 12 + start.month - 1 + k + 1
        end = date(months // 12, months % 12 + 1, 1)
    else:
        end = start + timedelta(days=(7 if unit == "week" else 1) * (k + 1))
    return datetime.combine(end, datetime.min.time(), ZONE).astimezone(UTC) <= NOW


def cohorts(t, days, unit, *, by="first_seen", where=None):
    """First day of a cohort -> its persons."""
    members = {}
    first = dict(t.events.group_by("person").agg(pl.col("at").min()).iter_rows())
    if by == "first_conversion":
        first = dict(
            t.conversions(("2020-01-01", "2030-01-01")).group_by("person").agg(pl.col("at").min()).iter_rows()
        )
    for person, at in first.items():
        if is_in(at, days) and (where is None or where(person)):
            members.setdefault(_period(at.astimezone(ZONE).date(), unit), set()).add(person)
    return members


def retention(t, days, unit, periods, *, mode="on", event=None, by="first_seen", where=None):
    """(first day of the cohort, period) -> active persons."""
    rows = t.events if event is None else t.events.filter(pl.col("name") == event)
    active = {}
    for person, day in rows.select("person", "day").unique().iter_rows():
        active.setdefault(person, set()).add(_period(day, unit))
    found = {}
    for start, persons in cohorts(t, days, unit, by=by, where=where).items():
        for k in range(periods + 1):
            if _ended(start, k, unit):
                seen = [
                    {_difference(day, start, unit) for day in active.get(person, ())} for person in persons
                ]
                is_active = [k in ks if mode == "on" else any(other >= k for other in ks) for ks in seen]
                found[f"{start} {k}"] = sum(is_active)
    return found


def cohort_sizes(t, days, unit, **options):
    return {
        str(start): len(persons)
        for start, persons in sorted(cohorts(t, days, unit, **options).items())
        if _ended(start, 0, unit)
    }


def averages(t, days, unit, periods):
    """Period -> retention pooled over the cohorts that reached it."""
    active, sizes = retention(t, days, unit, periods), cohort_sizes(t, days, unit)
    pooled = {}
    for key, count in active.items():
        start, k = key.split()
        total = pooled.setdefault(int(k), [0, 0])
        total[0] += count
        total[1] += sizes[start]
    return {str(k): ratio(*pooled[k]) for k in sorted(pooled)}


def ltv(t, days, unit, periods, *, per_person=False, **options):
    """(first day of the cohort, period) -> money of its persons up to then."""
    found = {}
    for start, persons in cohorts(t, days, unit, **options).items():
        rows = t.payments.filter(pl.col("person").is_in(list(persons)))
        for k in range(periods + 1):
            if _ended(start, k, unit):
                days_so_far = [
                    day
                    for day in rows["day"].unique()
                    if 0 <= _difference(_period(day, unit), start, unit) <= k
                ]
                upto = rows.filter(pl.col("day").is_in(days_so_far))
                cents = net_cents(t, upto)
                found[f"{start} {k}"] = half_even(cents / 100 / (len(persons) if per_person else 1))
    return found
