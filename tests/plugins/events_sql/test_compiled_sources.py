"""Row sources are compiled once per shape and dialect; everything else is a parameter."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
import sqlalchemy as sa

from plugins.events_sql.dialects.clickhouse.compiler import ClickHouseDialect
from plugins.events_sql.dialects.duckdb.compiler import DuckDialect
from plugins.events_sql.dialects.postgresql.compiler import PostgreSqlDialect
from plugins.events_sql.execution.statement_cache import StatementCache
from plugins.events_sql.relations.relation_rows import conversions_once_per_order
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql.compiled_sources import WORKSPACE, bind_parameters, compiled_source
from service_core.plugin import ConversionSet, QueryScope, TimeRange

DIALECTS = [DuckDialect, PostgreSqlDialect, ClickHouseDialect]
START = datetime(2026, 3, 1, tzinfo=UTC)


def make_scan(start: datetime = START, *names: str) -> QueryScope:
    span = TimeRange(start, start + timedelta(days=30))
    return QueryScope(uuid4(), span, "USD", "UTC", ConversionSet(frozenset(names or ("purchase",))))


def render_source(of: QueryScope, dialect: Any) -> tuple[str, Any]:
    found = conversions_once_per_order(of, of.span)
    return StatementCache(dialect()).render_from_cache(sa.select(sa.func.count()).select_from(found))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_statements_that_differ_only_in_values_share_one_text(dialect: Any) -> None:
    one, other = make_scan(), make_scan(START + timedelta(days=9), "signup", "purchase", "it's")
    (text, values), (other_text, other_values) = render_source(one, dialect), render_source(other, dialect)

    assert text == other_text
    assert values != other_values


@pytest.mark.parametrize("dialect", DIALECTS)
def test_values_are_never_part_of_the_text(dialect: Any) -> None:
    of = make_scan(START, "it's '; DROP TABLE events")
    text, values = render_source(of, dialect)

    assert "DROP" not in text
    assert str(of.workspace_id) not in text
    given = list(values.values() if isinstance(values, dict) else values)
    assert ["it's '; DROP TABLE events"] in given
    assert of.workspace_id in given or of.workspace_id.hex in map(str, given)


def source_of_scan() -> sa.Select[Any]:
    return sa.select(EVENTS.c.seq).where(EVENTS.c.workspace_id == WORKSPACE)


def source_of_other_scan() -> sa.Select[Any]:
    inner = compiled_source(source_of_scan).as_subquery("inner_one")
    return sa.select(inner.c.seq)


def test_source_is_built_once() -> None:
    assert compiled_source(source_of_scan) is compiled_source(source_of_scan)


def test_nested_source_receives_the_parameters_of_the_outer_one() -> None:
    workspace = UUID(int=7)
    outer = compiled_source(source_of_other_scan).as_subquery("outer_one", workspace=workspace)
    text, values = StatementCache(DuckDialect()).render_from_cache(sa.select(outer.c.seq))

    assert text.count("$1") == 1
    assert list(values) == [workspace]


def test_source_without_all_parameters_is_an_error() -> None:
    with pytest.raises(sa.exc.InvalidRequestError):
        StatementCache(DuckDialect()).render_from_cache(
            sa.select(compiled_source(source_of_scan).as_subquery("untold").c.seq)
        )


def test_two_uses_of_a_source_in_one_statement_have_separate_values() -> None:
    one, other = (compiled_source(source_of_scan).as_subquery(f"n{n}", workspace=UUID(int=n)) for n in (1, 2))
    _, values = StatementCache(DuckDialect()).render_from_cache(
        sa.select(one.c.seq).join(other, one.c.seq == other.c.seq)
    )

    assert list(values) == [UUID(int=1), UUID(int=2)]


def test_conversion_names_are_one_array_parameter() -> None:
    of = make_scan(START, *(f"name{n}" for n in range(40)))

    assert bind_parameters(of)["names"] == sorted(of.conversions.names)
    assert len(render_source(of, DuckDialect)[1]) == len(render_source(make_scan(), DuckDialect)[1])
