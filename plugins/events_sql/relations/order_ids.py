"""Finds in SQL the ids of the same order, by the same rule as `linked_order_ids` in the core."""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import WORKSPACE

ORDER_NAME_COLUMNS: Final = ("order_id", "payment_id")
"""Columns by which an event names its order."""

_EVENTS_BETWEEN_IDS: Final = 2
"""Ids are of the same order if at most so many events link them."""


def materialized_cte(query: sa.Select[Any] | sa.CompoundSelect[Any], name: str) -> sa.CTE:
    """Returns a CTE that DuckDB computes once instead of inlining it."""
    return query.cte(name).prefix_with("MATERIALIZED", dialect="duckdb")


def order_id_links(events: Any = EVENTS, workspace: Any = WORKSPACE) -> sa.CTE:
    """Returns the order and payment ids that an event names together, one row by each of the two as ``key``.

    Args:
        events: the events; for selected persons `related_visitors.ORDER_EVENTS`, so that the table of all events
            is not scanned.
        workspace: the id of the workspace, or its parameter.
    """
    c = events.c
    return materialized_cte(
        sa.select(c.order_id, c.payment_id, unnested_order_names(c)).where(
            c.workspace_id == workspace,
            c.order_id.is_not(None),
            c.payment_id.is_not(None),
            c.order_id != c.payment_id,
            sa.not_(c.is_bot),
            sa.not_(c.is_test),
        ),
        "order_id_links",
    )


def rows_by_linked_order_id(rows: Any, links: sa.CTE, name: str) -> sa.CTE:
    """Returns rows under each id of the same order, one row per id; rows whose ids no event links are left out.

    Args:
        rows: with the column ``key``, one of the ids of an order.
        links: as `order_id_links` returns them.
        name: prefix of the names of the CTEs.
    """
    by_id: sa.CTE = rows
    for count in range(1, _EVENTS_BETWEEN_IDS + 1):
        link = links.alias(f"{name}_link_{count}")
        others = (column for column in by_id.c if column.name != "key")
        found = sa.select(*others, unnested_order_names(link.c)).join_from(
            by_id, link, link.c.key == by_id.c.key
        )
        by_id = materialized_cte(found.distinct(), f"{name}_by_linked_id_{count}")
    return by_id


def unnested_order_names(c: Any) -> sa.Label[Any]:
    """Returns the order id and the payment id of an event as the column ``key``, one row each, NULL for one it does not have."""
    ids = fn.TupleKey(*(c[name] for name in ORDER_NAME_COLUMNS))
    return sa.type_coerce(fn.Unnest(ids), sa.Text).label("key")
