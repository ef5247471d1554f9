"""Reads pages of persons with an event in a span.

The page is found first, with one row per person; the values of its persons are read only for the page.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from plugins.events_sql.attribution.touches import first_touch_per_person
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import deferred_statement
from plugins.events_sql.identity.identity_resolution import id_number, persons_first_seen
from plugins.events_sql.identity.related_visitors import (
    RELATED_VISITORS,
    SELECTED_EVENTS,
    create_related_visitors_table,
    create_selected_events_table,
    create_selected_visitor_tables,
)
from plugins.events_sql.reads.people.person_profile import latest_identify_payloads_per_person, row_to_touch
from plugins.events_sql.relations.charges_and_refunds import (
    PaymentRows,
    any_provider_report_of_selected_orders,
)
from plugins.events_sql.relations.order_events import create_order_events_table
from plugins.events_sql.relations.relation_rows import (
    EventRows,
    conversions_once_per_order,
    filter_columns,
    required_columns,
)
from plugins.events_sql.schema.row_mapping import parse_json, to_utc
from plugins.events_sql.schema.tables import EVENTS, ID_NUMBERS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.event_kinds import name_in
from plugins.events_sql.sql.time_spans import all_time_span
from service_core.plugin import (
    CHARGE,
    IDENTIFY_EVENT,
    MAX_ITEMS_PER_PERSON,
    NOT_SET,
    PAGE_VIEWS,
    LocationAndDevice,
    PeoplePageQuery,
    Person,
    QueryScope,
    get_text_trait,
    lower_case_letter_by_letter,
    merge_traits_latest_non_null,
)

MATCHING_PERSONS: Final = sa.table(
    "matching_persons", sa.column("person_no", sa.BigInteger), sa.column("sort")
)
"""Temporary table of all matching persons with their sort value."""

PERSON_PAGE: Final = sa.table(
    "person_page",
    *(sa.column(name, sa.BigInteger) for name in ("person_no", "place")),
    sa.column("id", sa.Text),
)
"""Temporary table of the persons of the page with their names."""


def list_people(plan: PeoplePageQuery, runner: StatementRunner) -> tuple[list[Person], int]:
    """Returns a page of persons with an event in the span, and the number of all."""
    create_matching_persons_table(plan, runner)
    total = runner.fetch_rows(sa.select(sa.func.count()).select_from(MATCHING_PERSONS))[0][0]
    return read_page_of_matching_persons(plan, runner), total


def create_matching_persons_table(plan: PeoplePageQuery, runner: StatementRunner) -> None:
    """Creates the temporary table of all matching persons."""
    if plan.person is not None:
        _create_person_visitor_and_event_tables(plan, id_number(plan.scope.workspace_id, plan.person), runner)
    runner.create_temp_table(
        MATCHING_PERSONS.name,
        deferred_statement(_matching_persons_with_sort_value, replace(plan, limit=0, offset=0)),
    )  # the same for every page


def read_page_of_matching_persons(plan: PeoplePageQuery, runner: StatementRunner) -> list[Person]:
    """Returns a page of the matching persons."""
    runner.create_temp_table(
        PERSON_PAGE.name, deferred_statement(_page_ordered_by_sort_then_id, plan.limit, plan.offset)
    )
    if plan.person is None:
        _create_person_visitor_and_event_tables(
            plan, sa.select(PERSON_PAGE.c.person_no.label("number")), runner
        )
    create_related_visitors_table(plan.scope.workspace_id, runner)
    create_order_events_table(plan.scope, filter_columns(plan.scope), runner)
    return read_page_persons_seen_in_span(plan.scope, all_time_values_of_page(plan.scope, runner), runner)


PersonValueQuery: TypeAlias = Callable[[QueryScope], sa.Select[Any]]
"""A function that returns the query of some values of persons; its first column is the person."""

PersonValues: TypeAlias = dict[str, dict[int, tuple[Any, ...]]]
"""Values of persons: name of the query -> number of the person -> values."""


def all_time_values_of_page(
    scope: QueryScope, runner: StatementRunner, first_touch_query: PersonValueQuery | None = None
) -> PersonValues:
    """Returns the all-time values of the persons of the page.

    Args:
        scope: the workspace.
        runner: runs the statements of the read.
        first_touch_query: the query of their first touches, if not that of their visitors' touches.
    """
    return _read_values(
        {
            "first": _first_seen,
            "touch": first_touch_query or _first_touches_of_page,
            "identify": latest_identify_payloads_per_person,
        },
        scope,
        runner,
    )


def read_page_persons_seen_in_span(
    scope: QueryScope, all_time: PersonValues, runner: StatementRunner
) -> list[Person]:
    """Returns the persons of the page that have an event in the span.

    Args:
        scope: workspace, span and filters.
        all_time: their all-time values.
        runner: runs the statements of the read.
    """
    of_providers = runner.fetch_rows(deferred_statement(any_provider_report_of_selected_orders))
    charges = _charges_of_page if of_providers else _tracked_charges_of_page
    all_time = all_time | _read_values(
        {"ids": _first_visitor_ids_per_person, "converted": _conversion_counts, "money": charges},
        scope,
        runner,
    )
    return [
        _to_person(facts, all_time)
        for facts in runner.fetch_rows(deferred_statement(_counts_and_last_event_per_person, scope))
    ]


def _read_values(
    query_by_name: Mapping[str, PersonValueQuery], scope: QueryScope, runner: StatementRunner
) -> PersonValues:
    rows_by_query = {
        name: runner.fetch_rows(deferred_statement(part, scope)) for name, part in query_by_name.items()
    }
    return {name: {row[0]: row[1:] for row in rows} for name, rows in rows_by_query.items()}


def _create_person_visitor_and_event_tables(
    plan: PeoplePageQuery, person_numbers: sa.Select[Any], runner: StatementRunner
) -> None:
    """Creates the tables of selected persons, their visitors and their events."""
    create_selected_visitor_tables(plan.scope.workspace_id, person_numbers, runner)
    create_selected_events_table(
        plan.scope.workspace_id, required_columns(filter_columns(plan.scope) | PERSON_EVENT_COLUMNS), runner
    )


_LATEST_COLUMNS: Final = tuple(f.name for f in fields(LocationAndDevice))
PERSON_EVENT_COLUMNS: Final = frozenset({"event_data", "is_test", *_LATEST_COLUMNS})
"""Event columns that the values of a person are computed from, besides those that are always required."""


def _matching_persons_with_sort_value(plan: PeoplePageQuery) -> sa.Select[Any]:
    """Selects all persons that match a plan, with their sort value."""
    rows = EventRows(plan.scope, plan.scope.span, EVENTS if plan.person is None else SELECTED_EVENTS)
    row_conditions = rows.scope_conditions()
    number = rows.person_no
    sought = lower_case_letter_by_letter(plan.search or "")
    prefix = sa.literal(sought)
    columns = [
        number.label("person_no"),
        sa.func.max(rows.at).label("last_seen"),
        sa.func.count().label("events"),
    ]
    if plan.country is not None:
        latest = fn.LatestBy(fn.TupleKey(rows.table.c.country), rows.at, rows.table.c.seq)
        columns.append(fn.SingleElement(latest).label("country"))
    if plan.search is not None:
        is_match = fn.TextStartsWith(sa.func.lower(rows.table.c.visitor_id), prefix)
        columns.append(sa.func.bool_or(is_match).label("is_found"))
    seen = (
        sa.select(*columns).select_from(rows.source).where(*row_conditions).group_by(number).subquery("seen")
    )
    conditions = _identified_and_country_conditions(plan, seen)
    source, sort = _sort_source_and_value(plan, seen)
    joined, where = _joined_and_filtered_by_first_touch(plan, seen, source)
    if plan.identified is not None or plan.search is not None:
        joined = joined.join(ID_NUMBERS, ID_NUMBERS.c.number == seen.c.person_no)
    if plan.search is not None:
        mail = _latest_identify_email_per_person(plan.scope)
        joined = joined.outerjoin(mail, mail.c.person_no == seen.c.person_no)
        is_user_id = sa.and_(
            fn.TextStartsWith(ID_NUMBERS.c.id, sa.literal("u:")),
            fn.TextStartsWith(sa.func.lower(ID_NUMBERS.c.id), sa.literal("u:" + sought)),
        )
        hit = fn.TextStartsWith(sa.func.lower(fn.JsonText(mail.c.email)), prefix)
        where.append(sa.or_(seen.c.is_found, is_user_id, sa.func.coalesce(hit, sa.false())))
    return sa.select(seen.c.person_no, sort.label("sort")).select_from(joined).where(*conditions, *where)


def _identified_and_country_conditions(plan: PeoplePageQuery, persons_in_span: Any) -> list[Expression]:
    is_identified = fn.TextStartsWith(ID_NUMBERS.c.id, sa.literal("u:"))
    conditions = []
    if plan.identified is not None:
        conditions.append(is_identified if plan.identified else sa.not_(is_identified))
    if plan.country is not None:
        conditions.append(sa.func.coalesce(persons_in_span.c.country, NOT_SET) == plan.country)
    return conditions


def _sort_source_and_value(plan: PeoplePageQuery, persons_in_span: Any) -> tuple[Any, Expression]:
    """Returns the sort value of the page, joined where it is not a fact of the span's events."""
    if plan.sort == "first_seen":
        first = persons_first_seen(plan.scope)
        return persons_in_span.join(first, first.c.person_no == persons_in_span.c.person_no), first.c.first_at
    if plan.sort == "revenue":
        paid = _charges_by_person(plan.scope).subquery("paid")
        return persons_in_span.outerjoin(
            paid, paid.c.person_no == persons_in_span.c.person_no
        ), sa.func.coalesce(paid.c.revenue, 0)
    return persons_in_span, persons_in_span.c[plan.sort]


def _joined_and_filtered_by_first_touch(
    plan: PeoplePageQuery, persons_in_span: Any, source: Any
) -> tuple[Any, list[Expression]]:
    if plan.utm_source is None and plan.utm_campaign is None:
        return source, []
    touch = first_touch_per_person(plan.scope).subquery("came")
    wanted = ((touch.c.utm_source, plan.utm_source), (touch.c.utm_campaign, plan.utm_campaign))
    joined = source.outerjoin(touch, touch.c.person_no == persons_in_span.c.person_no)
    return joined, [
        sa.func.coalesce(column, NOT_SET) == value for column, value in wanted if value is not None
    ]


def _latest_identify_email_per_person(scope: QueryScope) -> sa.Subquery:
    """Returns the latest e-mail of each person's `$identify` events."""
    rows = EventRows(scope, all_time_span())
    number = rows.person_no
    mail = fn.IdentifyEmail(EVENTS.c.event_data)
    statement = sa.select(number.label("person_no"), fn.LatestBy(mail, rows.at, EVENTS.c.seq).label("email"))
    query = statement.select_from(rows.source).where(
        *rows.where, EVENTS.c.event_name == IDENTIFY_EVENT, mail.is_not(None)
    )
    return query.group_by(number).subquery("mail")


def _page_ordered_by_sort_then_id(limit: int, offset: int) -> sa.Select[Any]:
    """Selects the page; names are joined only to persons that may be on it, because equal sort values are ordered by name."""
    first = (
        sa.select(MATCHING_PERSONS.c.sort)
        .order_by(MATCHING_PERSONS.c.sort.desc())
        .limit(offset + limit)
        .subquery("first")
    )
    least = sa.select(sa.func.min(first.c.sort)).scalar_subquery()
    order = (MATCHING_PERSONS.c.sort.desc(), ID_NUMBERS.c.id.asc())
    place = sa.func.row_number().over(order_by=order).label("place")
    query = sa.select(MATCHING_PERSONS.c.person_no, place, ID_NUMBERS.c.id).join(
        ID_NUMBERS, ID_NUMBERS.c.number == MATCHING_PERSONS.c.person_no
    )
    numbered = query.where(MATCHING_PERSONS.c.sort >= least).subquery()
    return sa.select(numbered).where(numbered.c.place > offset, numbered.c.place <= offset + limit)


def _first_seen(scope: QueryScope) -> sa.Select[Any]:
    rows = EventRows(scope, all_time_span(), SELECTED_EVENTS)
    return sa.select(rows.person_no, sa.func.min(rows.at)).where(*rows.where).group_by(rows.person_no)


def _first_touches_of_page(scope: QueryScope) -> sa.Select[Any]:
    touch = first_touch_per_person(scope, RELATED_VISITORS).subquery("touch")
    return sa.select(touch).join(PERSON_PAGE, PERSON_PAGE.c.person_no == touch.c.person_no)


def _events_of_page_in_scope(
    scope: QueryScope, table: Any = SELECTED_EVENTS
) -> tuple[Any, Any, list[Expression]]:
    """Returns FROM clause, person and conditions of the events of the page's persons that the scope includes."""
    rows = EventRows(scope, scope.span, table)
    conditions = rows.scope_conditions()
    source = rows.source.join(PERSON_PAGE, PERSON_PAGE.c.person_no == rows.person_no)
    return source, PERSON_PAGE.c.person_no, conditions


def _counts_and_last_event_per_person(scope: QueryScope) -> sa.Select[Any]:
    """Selects the persons of the page in order, with their counts in the span and the values of their last event there."""
    source, number, where = _events_of_page_in_scope(scope)
    c = SELECTED_EVENTS.c
    facts = (
        sa.func.count(c.session_no.distinct()).filter(c.from_device).label("sessions"),
        sa.func.count().filter(name_in(c.event_name, PAGE_VIEWS)).label("pageviews"),
        sa.func.count().label("events"),
        sa.func.max(c.timestamp).label("last_seen"),
    )
    last_seq = sa.cast(fn.LatestBy(c.seq, c.timestamp, c.seq), sa.BigInteger).label("last_seq")
    query = sa.select(number, *facts, last_seq).select_from(source).where(*where)
    seen = query.group_by(number).subquery("seen")
    same = sa.and_(c.timestamp == seen.c.last_seen, c.seq == seen.c.last_seq)
    joined = PERSON_PAGE.join(seen, seen.c.person_no == PERSON_PAGE.c.person_no).join(SELECTED_EVENTS, same)
    columns = (*(seen.c[fact.name] for fact in facts), c.visitor_id, *(c[name] for name in _LATEST_COLUMNS))
    return (
        sa.select(PERSON_PAGE.c.person_no, PERSON_PAGE.c.id, *columns)
        .select_from(joined)
        .order_by(PERSON_PAGE.c.place)
    )


def _first_visitor_ids_per_person(scope: QueryScope) -> sa.Select[Any]:
    """Selects the first visitor ids of every person; a shared person may have millions."""
    source, number, where = _events_of_page_in_scope(scope)
    id_ = SELECTED_EVENTS.c.visitor_id
    different = sa.select(number, id_).distinct().select_from(source).where(*where).subquery("different")
    person = different.c.person_no
    place = sa.func.row_number().over(partition_by=person, order_by=different.c.visitor_id).label("place")
    first = sa.select(different, place).subquery("first")
    query = sa.select(first.c.person_no, fn.ArrayAgg(first.c.visitor_id))
    return query.where(first.c.place <= MAX_ITEMS_PER_PERSON).group_by(first.c.person_no)


def _conversion_counts(scope: QueryScope) -> sa.Select[Any]:
    source, number, where = _events_of_page_in_scope(
        scope, conversions_once_per_order(scope, scope.span, selected_columns=filter_columns(scope))
    )
    return sa.select(number, sa.func.count()).select_from(source).where(*where).group_by(number)


def _charges_by_person(
    scope: QueryScope, *, page_only: bool = False, may_be_of_providers: bool = True
) -> sa.Select[Any]:
    """Selects charges of the events that the scope includes, by person: count, amount and whether some is foreign."""
    rows = PaymentRows(scope, scope.span, selected_only=page_only, may_be_of_providers=may_be_of_providers)
    number = rows.person_no
    revenue, foreign = rows.revenue_and_missing_rate_flag()
    source = rows.source
    if scope.filters:
        picked = _positions_of_events_in_scope(scope, selected_only=page_only)
        same = sa.and_(picked.c.seq == rows.table.c.seq, picked.c.timestamp == rows.table.c.timestamp)
        source = source.join(picked, same)
    if page_only:
        source = source.join(PERSON_PAGE, PERSON_PAGE.c.person_no == number)
    columns: tuple[Expression, ...] = (
        number.label("person_no"),
        sa.func.count().filter(rows.table.c.is_order),
        revenue.label("revenue"),
        foreign,
    )
    where = (*rows.where, rows.table.c.kind == CHARGE)
    return sa.select(*columns).select_from(source).where(*where).group_by(number)


def _positions_of_events_in_scope(scope: QueryScope, *, selected_only: bool) -> sa.Subquery:
    """Returns the positions of the events that the scope includes."""
    rows = EventRows(scope, scope.span, SELECTED_EVENTS if selected_only else EVENTS)
    conditions = rows.scope_conditions()
    columns = (rows.table.c.seq, rows.table.c.timestamp)
    return sa.select(*columns).select_from(rows.source).where(*conditions).subquery()


def _charges_of_page(scope: QueryScope) -> sa.Select[Any]:
    return _charges_by_person(scope, page_only=True)


def _tracked_charges_of_page(scope: QueryScope) -> sa.Select[Any]:
    return _charges_by_person(scope, page_only=True, may_be_of_providers=False)


def _to_person(facts: tuple[Any, ...], values_by_query: PersonValues) -> Person:
    number, name, sessions, pageviews, events, last_seen, visitor_id, *latest = facts
    orders, revenue, foreign = values_by_query["money"].get(number, (0, 0, False))
    person_traits = merge_traits_latest_non_null(
        map(parse_json, values_by_query["identify"].get(number, ([],))[0])
    )
    touch = values_by_query["touch"].get(number)
    return Person(
        person=name,
        user_id=name.removeprefix("u:") if name.startswith("u:") else None,
        visitor_id=visitor_id,
        visitor_ids=tuple(sorted(values_by_query["ids"][number][0])),
        email=get_text_trait(person_traits, "email"),
        name=get_text_trait(person_traits, "name"),
        first_seen=to_utc(values_by_query["first"][number][0]),
        last_seen=to_utc(last_seen),
        sessions=sessions,
        pageviews=pageviews,
        events=events,
        conversions=values_by_query["converted"].get(number, (0,))[0],
        orders=orders,
        revenue=int(revenue),
        first_touch=row_to_touch(touch) if touch else None,
        latest_location_and_device=LocationAndDevice(*latest),
        foreign_money=bool(foreign),
    )
