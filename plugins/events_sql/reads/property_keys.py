"""Reads the keys of ``event_data`` by event name, with counts, a sample and a type."""

from typing import Any, Final

import orjson
import sqlalchemy as sa

from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import RESERVED_KEYS, RESERVED_PREFIXES, CustomPropertySummary

_JSON_TYPE_NAMES: Final = {
    "VARCHAR": "string",
    "STRING": "string",
    "BOOLEAN": "boolean",
    "BOOL": "boolean",
    "ARRAY": "array",
    "OBJECT": "object",
}
"""The engines' names of JSON types -> the names in responses; all others are numbers."""


def frequent_property_keys_query(
    source: sa.FromClause, where: list[Expression], limit_per_event_name: int
) -> sa.Select[Any]:
    """Selects custom keys of the events that meet some conditions, at most ``limit`` per event name."""
    facts = _custom_property_facts_query(source, where).subquery("facts")
    rank = sa.func.row_number().over(
        partition_by=facts.c.event_name, order_by=(facts.c.n.desc(), facts.c.key)
    )
    ranked = sa.select(facts, rank.label("place")).subquery("ranked")
    return (
        sa.select(ranked)
        .where(ranked.c.place <= limit_per_event_name)
        .order_by(ranked.c.event_name, ranked.c.place)
    )


def _custom_property_facts_query(source: sa.FromClause, where: list[Expression]) -> sa.Select[Any]:
    keys = (
        sa.select(
            EVENTS.c.event_name,
            EVENTS.c.event_data,
            EVENTS.c.timestamp,
            EVENTS.c.seq,
            fn.JsonKeys(EVENTS.c.event_data).label("key"),
        )
        .select_from(source)
        .where(*where)
        .subquery("keys")
    )
    reserved: list[Expression] = [fn.InValues(keys.c.key, *map(sa.literal, sorted(RESERVED_KEYS)))]
    reserved += [fn.TextStartsWith(keys.c.key, sa.literal(start)) for start in RESERVED_PREFIXES]
    member = fn.JsonMember(keys.c.event_data, keys.c.key)
    values = (
        sa.select(keys, member.label("value"))
        .where(*(sa.not_(condition) for condition in reserved))
        .subquery("members")
    )
    is_set = fn.JsonType(values.c.value) != "NULL"
    return sa.select(
        values.c.event_name,
        values.c.key,
        sa.func.count().label("n"),
        sa.func.count(values.c.value.distinct()).filter(is_set).label("different"),
        fn.LatestBy(values.c.value, values.c.timestamp, values.c.seq, is_set).label("sample"),
        fn.DistinctArrayAgg(fn.JsonType(values.c.value)).filter(is_set).label("kinds"),
    ).group_by(values.c.event_name, values.c.key)


def row_to_property_key(row: tuple[Any, ...]) -> CustomPropertySummary:
    """Returns the property key of a row of `frequent_property_keys_query`."""
    name, key, count, different, sample, kinds, _ = row
    types = {_JSON_TYPE_NAMES.get(kind, "number") for kind in kinds or ()} or {"null"}
    return CustomPropertySummary(
        event_name=name,
        key=key,
        count=count,
        distinct_count=different,
        sample=None if sample is None else orjson.loads(sample),
        type=types.pop() if len(types) == 1 else "mixed",
    )
