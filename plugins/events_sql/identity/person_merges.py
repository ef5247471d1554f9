"""Computes which ids are merged into another person, by `$alias` events and by external ids.

The result is stored per workspace whenever it changes, so that reads only join it. The rules are those of
identity resolution in the core, on id numbers instead of events.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.identity.email_matches import PersonMerges, merge_provider_visitors_by_email
from plugins.events_sql.identity.identity_links import ALIAS, WEB_ATTRIBUTION_MATCHED
from plugins.events_sql.identity.identity_resolution import is_owner_at_event
from plugins.events_sql.schema.tables import (
    EVENTS,
    ID_NUMBERS,
    PERSON_MERGES,
    REVOKED_LINKS,
    VISITOR_OWNERS,
    IdNumber,
)
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression


def merge_by_alias(old_and_new_ids: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Returns strong id -> the strong id that names its person, from (old, new) pairs in order of time.

    The new id of the latest pair names the whole person; a repeated or circular pair does no harm.
    """
    together: dict[int, set[int]] = {}
    name_ids: dict[int, int] = {}
    for old, new in old_and_new_ids:
        group = together.get(old, {old}) | together.get(new, {new})
        together |= dict.fromkeys(group, group)
        name_ids |= dict.fromkeys(group, new)
    return name_ids


def merge_by_external_id(
    persons_by_id: Mapping[Any, set[int]], person_id_texts: Mapping[int, str]
) -> dict[int, int]:
    """Returns person -> the person it is merged into, by the external ids they carry.

    Args:
        persons_by_id: external id -> persons that carry it.
        person_id_texts: person -> ``u:..`` or ``v:..``. An id that two identified persons carry merges nobody, nor do
            persons that are connected with two identified ones.
    """

    def identified_among(persons: Iterable[int]) -> list[int]:
        return [person for person in persons if person_id_texts[person].startswith("u:")]

    groups: dict[int, set[int]] = {}
    for persons in persons_by_id.values():
        if len(identified_among(persons)) > 1:
            continue
        group = set().union(*(groups.get(person, {person}) for person in persons))
        groups |= dict.fromkeys(group, group)
    parts: dict[int, int] = {}
    for group in {id(group): group for group in groups.values()}.values():
        identified = identified_among(group)
        if len(identified) <= 1:
            parts |= dict.fromkeys(
                group, identified[0] if identified else min(group, key=person_id_texts.__getitem__)
            )
    return parts


def recompute_and_store_person_merges(writer: StatementRunner, workspaces: Iterable[UUID]) -> None:
    """Recomputes the person merges of some workspaces and replaces the stored ones."""
    for workspace in workspaces:
        writer.fetch_rows(sa.delete(PERSON_MERGES).where(PERSON_MERGES.c.workspace_id == workspace))
        if merges := compute_person_merges(writer, workspace):
            writer.fetch_rows(_insert_merges_statement(workspace, merges))


def compute_person_merges(runner: StatementRunner, workspace: UUID) -> dict[int, int]:
    """Returns id number -> the person it is merged into, for the ids of a workspace that are merged into another person."""
    name_ids = merge_by_alias(
        (old, new) for old, new, *_ in runner.fetch_rows(_alias_pairs_by_time(workspace))
    )
    carriers, texts = persons_by_external_id_or_email_match_and_id_texts(runner, workspace, name_ids)
    parts = merge_by_external_id(carriers, texts)
    parts |= merge_provider_visitors_by_email(runner, workspace, PersonMerges(name_ids, parts, texts))
    merges = {id_: parts.get(name, name) for id_, name in name_ids.items()}
    return {id_: person for id_, person in (parts | merges).items() if id_ != person}


def _insert_merges_statement(workspace: UUID, person_by_merged_id: Mapping[int, int]) -> sa.Insert:
    numbers = sa.ARRAY(sa.BigInteger)
    places = sa.select(
        fn.Unnest(sa.literal(list(range(1, len(person_by_merged_id) + 1)), numbers)).label("place")
    ).subquery()
    columns = (
        fn.ElementAt(sa.literal(list(values), numbers), places.c.place)
        for values in (person_by_merged_id, person_by_merged_id.values())
    )
    return sa.insert(PERSON_MERGES).from_select(
        [c.name for c in PERSON_MERGES.columns], sa.select(sa.literal(workspace, sa.Uuid), *columns)
    )


def linking_conditions(workspace: UUID) -> list[Expression]:
    """Returns the conditions of events whose ids count: not of bots, and not revoked."""
    c = EVENTS.c
    revoked = sa.select(REVOKED_LINKS.c.event_id).where(REVOKED_LINKS.c.workspace_id == workspace)
    return [c.workspace_id == workspace, sa.not_(c.is_bot), c.event_id.not_in(revoked)]


def prefiltered_events(name: str, *columns: Any, where: list[Expression]) -> sa.CTE:
    """Returns a CTE of some events that is computed before joins; otherwise all ids and owners are hashed for them."""
    return sa.select(*columns).where(*where).cte(name).prefix_with("MATERIALIZED", dialect="duckdb")


def _id_in_event_data(prefix: str, key: str) -> Any:
    """Returns the prefixed id at a key of ``event_data``."""
    return sa.literal_column(f"'{prefix}'", sa.Text) + fn.JsonString(EVENTS.c.event_data, sa.literal(key))


def _alias_pairs_by_time(workspace: UUID) -> sa.Select[Any]:
    """Selects the old and new id of every `$alias` event, in order of time."""
    c = EVENTS.c
    columns = (
        c.workspace_id,
        c.strong_no,
        c.timestamp,
        c.seq,
        _id_in_event_data("u:", "previous_id").label("old"),
    )
    where = [*linking_conditions(workspace), c.event_name == ALIAS, c.strong_no.is_not(None)]
    alias = prefiltered_events("alias", *columns, where=where)
    has_id = sa.and_(ID_NUMBERS.c.workspace_id == alias.c.workspace_id, ID_NUMBERS.c.id == alias.c.old)
    pairs = sa.select(ID_NUMBERS.c.number, alias.c.strong_no, alias.c.timestamp, alias.c.seq)
    other = pairs.select_from(alias.join(ID_NUMBERS, has_id)).where(ID_NUMBERS.c.number != alias.c.strong_no)
    return other.order_by(alias.c.timestamp, alias.c.seq)


OWNER_KEY_COLUMNS: Final = tuple(
    EVENTS.c[name] for name in ("workspace_id", "visitor_no", "strong_no", "timestamp", "seq")
)


def joined_to_owner_before_merges(events: sa.CTE) -> tuple[sa.FromClause, Expression]:
    """Returns events joined to their owner at the time, and the number of the person before merges."""
    of_events = VISITOR_OWNERS.c.visitor_no.in_(sa.select(events.c.visitor_no))
    holder = sa.select(VISITOR_OWNERS).where(of_events).subquery("holder")
    number = sa.func.coalesce(events.c.strong_no, holder.c.strong_no, events.c.visitor_no)
    return events.outerjoin(holder, is_owner_at_event(events, holder)), number


def _external_ids_with_several_carriers(workspace: UUID) -> sa.Select[Any]:
    """Selects external ids with several carriers, and all their carriers."""
    ids = EVENTS.c.external_ids
    events = prefiltered_events(
        "carrying", *OWNER_KEY_COLUMNS, ids, where=[*linking_conditions(workspace), ids.is_not(None)]
    )
    source, number = joined_to_owner_before_merges(events)
    carried = sa.select(events.c.external_ids, number.label("person_no")).select_from(source).distinct()
    c = one_row_per_external_id(carried).c
    shared = sa.func.min(c.person_no) != sa.func.max(c.person_no)
    query = sa.select(c.key, c.value, fn.ArrayAgg(c.person_no))
    return query.group_by(c.key, c.value).having(shared)


def one_row_per_external_id(carrying: sa.Select[Any]) -> sa.Subquery:
    """Returns a row per external id of rows: the other columns, and ``key`` and ``value`` as JSON."""
    rows = carrying.subquery("carrying_rows").c
    keys = sa.select(*rows, fn.JsonKeys(rows.external_ids).label("key")).subquery("keys").c
    others = (column for column in keys if column.name != "external_ids")
    return sa.select(*others, fn.JsonMember(keys.external_ids, keys.key).label("value")).subquery(
        "external_ids_of_rows"
    )


def _email_matches_with_persons_and_owners(workspace: UUID) -> sa.Select[Any]:
    """Selects e-mail matches: the event, its person, the visitor it names and everyone who ever owned that visitor."""
    c = EVENTS.c
    by_mail = fn.JsonString(c.event_data, sa.literal("match_method")) == "email"
    columns = (*OWNER_KEY_COLUMNS, c.event_id, _id_in_event_data("v:", "web_visitor_id").label("web"))
    events = prefiltered_events(
        "matched",
        *columns,
        where=[*linking_conditions(workspace), c.event_name == WEB_ATTRIBUTION_MATCHED, by_mail],
    )
    source, number = joined_to_owner_before_merges(events)
    ever = VISITOR_OWNERS.alias("ever")
    has_id = sa.and_(ID_NUMBERS.c.workspace_id == events.c.workspace_id, ID_NUMBERS.c.id == events.c.web)
    source = source.outerjoin(ID_NUMBERS, has_id).outerjoin(ever, ever.c.visitor_no == ID_NUMBERS.c.number)
    query = sa.select(events.c.event_id, number.label("person_no"), ID_NUMBERS.c.number, ever.c.strong_no)
    return query.select_from(source).distinct()


def persons_by_external_id_or_email_match_and_id_texts(
    runner: StatementRunner, workspace: UUID, name_ids: Mapping[int, int]
) -> tuple[dict[Any, set[int]], dict[int, str]]:
    """Returns the persons that share each external id or e-mail match, and the id texts of these persons."""
    carriers: defaultdict[Any, set[int]] = defaultdict(set)
    for key, value, together in runner.fetch_rows(_external_ids_with_several_carriers(workspace)):
        carriers[key, value] |= {name_ids.get(id_, id_) for id_ in together}
    persons_by_match: defaultdict[Any, set[int]] = defaultdict(set)
    for event_id, id_, web, owned in runner.fetch_rows(_email_matches_with_persons_and_owners(workspace)):
        persons_by_match[event_id] |= {name_ids.get(id_, id_)}
        persons_by_match[event_id] |= {name_ids.get(owned, owned)} if owned is not None else {web} - {None}
    for event_id, together in persons_by_match.items():
        carriers[event_id] |= together
    persons = sorted(set().union(*carriers.values())) if carriers else []
    listed = fn.InArray(ID_NUMBERS.c.number, sa.literal(persons, sa.ARRAY(IdNumber)))
    texts = sa.select(ID_NUMBERS.c.number, ID_NUMBERS.c.id).where(
        ID_NUMBERS.c.workspace_id == workspace, listed
    )
    return carriers, dict(map(tuple, runner.fetch_rows(texts))) if persons else {}
