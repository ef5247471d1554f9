"""Reads one person: the person of an id, their profile, events and touches."""

from collections.abc import Iterator
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.attribution.touches import TOUCH_VALUE_COLUMNS, all_touches_with_person
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.identity_resolution import (
    id_number,
    is_in_table,
    is_session_of_visitors,
    joined_to_person,
)
from plugins.events_sql.identity.related_visitors import (
    RELATED_VISITORS,
    SELECTED_EVENTS,
    SELECTED_PERSONS,
    SELECTED_VISITORS,
    create_related_visitors_table,
    create_selected_events_table,
    create_selected_visitor_tables,
)
from plugins.events_sql.reads.event_queries import EVENT_COLUMNS, NEWEST_FIRST, events_at_positions
from plugins.events_sql.relations.relation_rows import (
    EventRows,
    filter_columns,
    required_columns,
    span_conditions,
)
from plugins.events_sql.schema.row_mapping import parse_json, row_to_event, to_utc
from plugins.events_sql.schema.tables import (
    EVENTS,
    ID_NUMBERS,
    MAX_INSTANT,
    PERSON_MERGES,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
    IdNumber,
)
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import WORKSPACE, compiled_source
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.time_spans import all_time_span
from service_core.plugin import (
    IDENTIFY_EVENT,
    MAX_ITEMS_PER_PERSON,
    ConversionSet,
    Event,
    Profile,
    QueryScope,
    Touch,
    merge_traits_latest_non_null,
)

WEAK_ID_EVENTS: Final = sa.table(
    "weak_id_events",
    *(sa.column(name, kind) for name, kind in (("weak_id", sa.Text), ("timestamp", sa.DateTime))),
    *(sa.column(name, sa.BigInteger) for name in ("seq", "person_no")),
)
"""Temporary table of the events of some visitors with a weak id and their person."""


def all_time_scope_without_conversions(workspace_id: UUID) -> QueryScope:
    """Returns a scope of all time, in which no event converts."""
    return QueryScope(workspace_id, all_time_span(), "", "UTC", ConversionSet(frozenset(), any_revenue=False))


def resolve_person_strong_id_first(workspace_id: UUID, any_id: str, runner: StatementRunner) -> str | None:
    """Returns the person of a strong id, else of the latest event with this visitor id, else with this anonymous id.

    A weak id that only occurs in links returns the person it was linked to last.
    """
    number = _person_of_occurring_strong_id(workspace_id, "u:" + any_id, runner)
    if number is not None:
        return _person_id_text(workspace_id, number, runner)
    for column in ("visitor_id", "anonymous_id"):
        runner.create_temp_table(SELECTED_VISITORS.name, _visitors_with_weak_id(workspace_id, column, any_id))
        create_weak_id_events_table(workspace_id, column, runner)
        query = sa.select(WEAK_ID_EVENTS.c.person_no).where(WEAK_ID_EVENTS.c.weak_id == any_id)
        if rows := runner.fetch_rows(
            query.order_by(WEAK_ID_EVENTS.c.timestamp.desc(), WEAK_ID_EVENTS.c.seq.desc()).limit(1)
        ):
            return _person_id_text(workspace_id, rows[0][0], runner)
    linked = runner.fetch_rows(_person_linked_last_to_weak_id(workspace_id, "v:" + any_id))
    return str(linked[0][0]) if linked else None


def create_weak_id_events_table(workspace_id: UUID, weak_id_column: str, runner: StatementRunner) -> None:
    """Creates `WEAK_ID_EVENTS` from the selected visitors; a search for weak ids among all events would be slower."""
    events = compiled_source(_weak_id_events_of_selected_visitors, weak_id_column).as_subquery(
        "own", workspace=workspace_id
    )
    runner.create_temp_table(WEAK_ID_EVENTS.name, sa.select(*events.c))


def _person_linked_last_to_weak_id(workspace_id: UUID, weak_id: str) -> sa.Select[Any]:
    """Selects the person that a weak id was linked to last."""
    weak, name, part = ID_NUMBERS.alias("own"), ID_NUMBERS.alias("name"), PERSON_MERGES.alias("part")
    same = sa.and_(
        weak.c.number == VISITOR_OWNERS.c.visitor_no, weak.c.workspace_id == VISITOR_OWNERS.c.workspace_id
    )
    is_part = sa.and_(
        part.c.number == VISITOR_OWNERS.c.strong_no, part.c.workspace_id == VISITOR_OWNERS.c.workspace_id
    )
    number = sa.func.coalesce(part.c.person_no, VISITOR_OWNERS.c.strong_no)
    joined = VISITOR_OWNERS.join(weak, same).outerjoin(part, is_part).join(name, name.c.number == number)
    last = VISITOR_OWNERS.c.until == sa.literal(MAX_INSTANT)
    return (
        sa.select(name.c.id)
        .select_from(joined)
        .where(
            fn.UnindexedCondition(weak.c.workspace_id == workspace_id, weak.c.id), weak.c.id == weak_id, last
        )
    )


def _person_of_occurring_strong_id(workspace_id: UUID, strong_id: str, runner: StatementRunner) -> int | None:
    """Returns the number of the person of a strong id; None when the id was only mentioned by other events."""
    part = PERSON_MERGES.alias("part")
    joined = ID_NUMBERS.outerjoin(
        part, sa.and_(part.c.number == ID_NUMBERS.c.number, part.c.workspace_id == ID_NUMBERS.c.workspace_id)
    )
    conditions = (
        fn.UnindexedCondition(ID_NUMBERS.c.workspace_id == workspace_id, ID_NUMBERS.c.id),
        ID_NUMBERS.c.id == strong_id,
    )
    for number, person in runner.fetch_rows(
        sa.select(ID_NUMBERS.c.number, part.c.person_no).select_from(joined).where(*conditions)
    ):
        if person is not None:
            return int(person)
        if any(runner.fetch_rows(query) for query in _occurrences(workspace_id, number)):
            return int(number)
    return None


def _occurrences(workspace_id: UUID, number: int) -> Iterator[sa.Select[Any]]:
    """Yields queries that find rows for a strong id that is a person."""
    for column in (PERSON_MERGES.c.person_no, VISITOR_ID_PAIRS.c.strong_no):
        conditions = (column.table.c.workspace_id == workspace_id, column == sa.literal(number, IdNumber()))
        yield sa.select(column).where(*conditions).limit(1)


def _visitors_with_weak_id(workspace_id: UUID, weak_id_column: str, weak_id: str) -> sa.Select[Any]:
    """Selects the numbers of visitors whose events have a weak id in a column."""
    if weak_id_column == "visitor_id":
        return id_number(workspace_id, "v:" + weak_id)
    conditions = (EVENTS.c.workspace_id == workspace_id, EVENTS.c[weak_id_column] == weak_id)
    return sa.select(EVENTS.c.visitor_no.label("number")).where(*conditions).distinct()


def _weak_id_events_of_selected_visitors(weak_id_column: str) -> sa.Select[Any]:
    """Selects the events of the selected visitors with a column and their person."""
    joined, person = joined_to_person(EVENTS, SELECTED_VISITORS.name)
    c = EVENTS.c
    conditions = (
        fn.RedundantCondition(c.workspace_id == WORKSPACE),
        is_session_of_visitors(SELECTED_VISITORS.name, c.session_no),
    )
    columns = (c[weak_id_column].label("weak_id"), c.timestamp, c.seq, person.label("person_no"))
    return sa.select(*columns).select_from(joined).where(*conditions)


def _person_id_text(workspace_id: UUID, number: int, runner: StatementRunner) -> str:
    conditions = (
        ID_NUMBERS.c.workspace_id == workspace_id,
        ID_NUMBERS.c.number == sa.literal(number, IdNumber()),
    )
    return str(runner.fetch_rows(sa.select(ID_NUMBERS.c.id).where(*conditions))[0][0])


def _create_person_tables(workspace_id: UUID, person_name: str, runner: StatementRunner) -> None:
    """Creates the tables of one selected person, given by name, and their visitors."""
    create_selected_visitor_tables(workspace_id, id_number(workspace_id, person_name), runner)


def create_person_tables_and_event_source(
    scope: QueryScope, person_name: str, event_columns: frozenset[str], runner: StatementRunner
) -> tuple[Any, list[Any]]:
    """Returns the FROM clause and the conditions of a person's events that a scope includes.

    Args:
        scope: workspace, span and filters.
        person_name: the name of the person.
        event_columns: event columns that are read.
        runner: runs the statements of the read.
    """
    _create_person_tables(scope.workspace_id, person_name, runner)
    create_selected_events_table(
        scope.workspace_id, required_columns(filter_columns(scope) | event_columns), runner
    )
    rows = EventRows(scope, scope.span, SELECTED_EVENTS)
    conditions = rows.scope_conditions()
    return rows.source, conditions


def latest_person_events_oldest_first(
    scope: QueryScope, person: str, limit: int, runner: StatementRunner
) -> list[Event]:
    """Returns the latest events of a person in the span, oldest first."""
    source, where = create_person_tables_and_event_source(scope, person, frozenset(), runner)
    c = SELECTED_EVENTS.c
    newest = sa.select(c.timestamp, c.seq, c.session_no).select_from(source).where(*where)
    place = newest.order_by(c.timestamp.desc(), c.seq.desc()).limit(limit).subquery("place")
    events, where = events_at_positions(place, "timestamp", "seq", scope.workspace_id)
    rows = sa.select(*EVENT_COLUMNS).select_from(events).where(*where).order_by(*NEWEST_FIRST)
    return [row_to_event(row) for row in runner.fetch_rows(rows)][::-1]


def latest_person_touches_oldest_first(
    scope: QueryScope, person: str, limit: int, runner: StatementRunner
) -> list[Touch]:
    """Returns the person's latest touches in the span, oldest first."""
    _create_person_tables(scope.workspace_id, person, runner)
    create_related_visitors_table(scope.workspace_id, runner)
    touch = all_touches_with_person(scope, RELATED_VISITORS)
    columns = [touch.c[name] for name in ("at", *TOUCH_VALUE_COLUMNS)]
    query = sa.select(*columns).where(
        is_in_table(SELECTED_PERSONS.name, touch.c.person_no), *span_conditions(touch.c.at, scope.span)
    )
    latest = query.order_by(touch.c.at.desc(), touch.c.seq.desc()).limit(limit)
    return [row_to_touch(row) for row in runner.fetch_rows(latest)][::-1]


PROFILE_COLUMNS: Final = frozenset({"anonymous_id", "external_ids", "event_data"})
"""Event columns that a profile is computed from."""


def read_profile_of_selected_person(workspace_id: UUID, runner: StatementRunner) -> Profile:
    """Returns the all-time ids and traits of the person whose events are selected."""
    rows = EventRows(all_time_scope_without_conversions(workspace_id), all_time_span(), SELECTED_EVENTS)
    source, where, c = rows.source, rows.where, SELECTED_EVENTS.c

    def latest_values(column: Any, *conditions: Expression) -> list[Any]:
        """Returns the latest distinct values of a column, oldest first."""
        last = sa.func.max(fn.EventPosition(c.timestamp, c.seq)).label("last")
        different = (
            sa.select(column, last).select_from(source).where(*where, column.is_not(None), *conditions)
        )
        latest = different.group_by(column).order_by(sa.desc("last")).limit(MAX_ITEMS_PER_PERSON)
        return [parse_json(row[0]) for row in runner.fetch_rows(latest)][::-1]

    anonymous = sa.select(c.anonymous_id).select_from(source).where(*where, c.anonymous_id != "")
    anonymous = anonymous.distinct().order_by(c.anonymous_id).limit(MAX_ITEMS_PER_PERSON)
    external: dict[str, str] = {}
    for ids in latest_values(c.external_ids):
        external |= ids
    return Profile(
        anonymous_ids=tuple(row[0] for row in runner.fetch_rows(anonymous)),
        external_ids=external,
        traits=merge_traits_latest_non_null(latest_values(c.event_data, c.event_name == IDENTIFY_EVENT)),
    )


def latest_identify_payloads_per_person(scope: QueryScope) -> sa.Select[Any]:
    """Selects the latest distinct `$identify` payloads of the persons of a page, oldest first; one row per person."""
    page = sa.table("person_page", sa.column("person_no", sa.BigInteger))
    rows = EventRows(scope, all_time_span(), SELECTED_EVENTS)
    number = rows.person_no
    c = SELECTED_EVENTS.c
    last = sa.func.max(fn.EventPosition(c.timestamp, c.seq)).label("last")
    different = (
        sa.select(page.c.person_no, c.event_data, last)
        .select_from(rows.source.join(page, page.c.person_no == number))
        .where(*rows.where, c.event_name == IDENTIFY_EVENT)
        .group_by(page.c.person_no, c.event_data)
        .subquery("different")
    )
    d = different.c
    place = sa.func.row_number().over(partition_by=d.person_no, order_by=d.last.desc()).label("place")
    latest = sa.select(different, place).subquery("latest")
    payloads = fn.OrderedArrayAgg(latest.c.event_data, latest.c.last, latest.c.place)
    query = sa.select(latest.c.person_no, payloads).where(latest.c.place <= MAX_ITEMS_PER_PERSON)
    return query.group_by(latest.c.person_no)


def row_to_touch(row: tuple[Any, ...]) -> Touch:
    """Returns the touch of a row with its timestamp and `TOUCH_VALUE_COLUMNS`."""
    values = dict(zip(TOUCH_VALUE_COLUMNS, row[1:], strict=True))
    return Touch(
        timestamp=to_utc(row[0]),
        source=values["attribution_source"],
        medium=values["attribution_medium"],
        campaign=values["utm_campaign"],
        term=values["utm_term"],
        content=values["utm_content"],
        channel=values["channel"],
        click_id=values["click_id"],
        click_id_type=values["click_id_type"],
        referrer=values["referrer"],
        landing_page=values["landing_page"],
        lyr=values["lyr"],
        utm_source=values["utm_source"],
        utm_medium=values["utm_medium"],
    )
