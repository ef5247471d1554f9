"""Questions that share a text: what each fills in is what it would say if it were built for itself."""

from dataclasses import replace
from datetime import timedelta
from itertools import cycle
from random import Random
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from plugins.events_sql.aggregate import statement
from plugins.events_sql.cohorts import cohorts
from plugins.events_sql.dialects.clickhouse.spelling import ClickHouseDialect
from plugins.events_sql.dialects.duckdb.spelling import DuckDialect
from plugins.events_sql.dialects.postgresql.spelling import PostgresDialect
from plugins.events_sql.people import gather, shown
from plugins.events_sql.statements import Built, Statements
from plugins.events_sql.usual import prepare
from service_core.access.rules import Rules
from service_core.insight.measures import count
from service_core.insight.ports import Aggregate
from service_core.kernel.ranges import Span, Unit
from service_core.kernel.series import cover
from service_core.plugin import Relation
from service_core.testing import plans
from service_core.testing.generated import world
from service_core.testing.story import Story, days
from tests.insight.served import serving

DIALECTS = (DuckDialect, PostgresDialect, ClickHouseDialect)
OTHER = UUID("00000000-0000-7000-8000-0000000000aa")


class Listener:
    """Hears what is asked of an engine that holds nothing."""

    def __init__(self):
        self.heard = []

    def rows(self, statement):
        self.heard.append(statement)
        return []

    def keep(self, _, statement):
        self.heard.append(statement)


def asked(plan):
    """The questions of a plan."""
    if isinstance(plan, Aggregate):
        return [statement(plan)]
    listener = Listener()
    for read in (cohorts,) if hasattr(plan, "activity") else (gather, shown):
        read(plan, listener)
    return [each for each in listener.heard if isinstance(each, Built)]


def other(operand):
    """An operand of the same kind."""
    if isinstance(operand, tuple):
        return tuple(map(other, operand))
    return f"other {operand}" if isinstance(operand, str) else operand


def elsewhere(random, plan):
    """The plan about other days, and more or fewer of them, of another workspace."""
    moved, longer = timedelta(days=random.randint(-900, 900)), timedelta(hours=random.randint(0, 4000))
    span = Span(plan.scan.span.start + moved, plan.scan.span.end + moved + longer)
    filters = tuple(replace(each, value=other(each.value)) for each in plan.scan.filters)
    scan = replace(
        plan.scan,
        workspace_id=OTHER,
        span=span,
        filters=filters,
        currency=random.choice(("EUR", "USD")),
        conversions=replace(plan.scan.conversions, names=frozenset(random.sample(["a", "b", "c"], 2))),
    )
    zone = ZoneInfo(scan.zone)
    match plan:
        case Aggregate(buckets=None):
            return replace(plan, scan=scan)
        case Aggregate():
            return replace(plan, scan=scan, buckets=cover(span, plan.buckets.unit, zone))
        case _ if hasattr(plan, "activity"):
            acquisition = cover(span, plan.acquisition.unit, zone)
            later = Span(acquisition.starts[0], span.end + timedelta(days=random.randint(0, 90)))
            return replace(
                plan, scan=scan, acquisition=acquisition, activity=cover(later, plan.activity.unit, zone)
            )
        case _:
            return replace(plan, scan=scan, person=plan.person and "v:b")


def person(random, drawn):
    return replace(plans.people(random, drawn), person="u:ada")


@pytest.mark.parametrize("draw", [plans.aggregate, plans.cohorts, plans.people, person])
def test_a_question_says_the_same_whatever_was_asked_before(draw):
    for seed, dialect in zip(range(24), cycle(DIALECTS), strict=False):
        random = Random(seed)
        plan = draw(random, world(random, 20))
        warm = Statements(dialect())
        for each in (plan, elsewhere(random, plan), elsewhere(random, plan)):
            for built in asked(each):
                assert warm.render(built) == Statements(dialect()).render(built.build(*built.given))


def scan(first, last, zone="UTC", **fields):
    return Story(OTHER).scan(days(first, last), zone=zone, **fields)


def by_day(looked_at):
    return Aggregate(
        looked_at,
        (count(Relation.EVENTS),),
        buckets=cover(looked_at.span, Unit.DAY, ZoneInfo(looked_at.zone)),
    )


def test_days_and_workspaces_are_no_reason_to_build_a_question_again():
    statements = Statements(DuckDialect())
    texts = {
        statements.render(statement(by_day(each)))[0]
        for each in (
            scan("2026-01-01", "2026-01-31"),
            scan("2026-06-01", "2026-12-31"),
            replace(scan("2026-02-01", "2026-02-02"), workspace_id=UUID(int=1)),
        )
    }
    assert len(texts) == len(statements._templates._kept) == 1


@pytest.mark.parametrize("path", ["/users", "/retention", "/ltv", "/events/properties"])
async def test_reads_of_many_statements_find_them_built(path, tmp_path):
    async with serving("duckdb", tmp_path) as served:
        shop = await served.workspace(currency="EUR", rules=Rules(conversions=frozenset({"lead"})))
        statements = Statements(DuckDialect())
        prepare(statements)
        built = set(statements._templates._kept)
        served.service.ports.events._engine._statements = statements
        await shop.get(path, start_date="2026-06-01", end_date="2026-07-05")
        assert set(statements._templates._kept) == built
