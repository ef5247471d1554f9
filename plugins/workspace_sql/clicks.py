"""Stores of clicks on tracking links, of their counts, and of links by the tag that events carry."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.database import SqlStore
from plugins.workspace_sql.records import record_of, row_of
from plugins.workspace_sql.statements import insert_if_absent, upsert
from plugins.workspace_sql.tables import CLICK_COUNTS, CLICK_VISITORS, CLICKS, RESOURCES
from service_core.plugin import Click, ClickCount, TaggedLink

_LINK: Final = "tracking_link"
_TAG: Final = RESOURCES.c.state["tracking_identifier"].as_string()


class SqlClicks(SqlStore):
    """Implements the port `ClickStore`."""

    async def record_clicks(self, clicks: Sequence[Click]) -> None:
        """Adds clicks, and counts those of people, in one transaction."""
        await self._database.run_in_transaction(
            lambda connection: _insert_new_clicks_and_count_people(connection, clicks)
        )

    async def count_clicks(
        self, workspace_id: UUID, link_ids: Collection[UUID] | None = None
    ) -> Mapping[UUID, ClickCount]:
        """Returns the counts of the links of a workspace that were clicked."""
        query = sa.select(CLICK_COUNTS).where(CLICK_COUNTS.c.workspace_id == workspace_id)
        if link_ids is not None:
            query = query.where(CLICK_COUNTS.c.link_id.in_(link_ids))
        rows = await self._database.fetch_rows(query)
        return {row["link_id"]: record_of(ClickCount, row) for row in rows}

    async def purge_click_ips(self, before: datetime) -> None:
        """Erases IP addresses of clicks before a time, and deletes the visitors of hours before it."""
        old = sa.update(CLICKS).where(CLICKS.c.ip.is_not(None), CLICKS.c.clicked_at < before)
        past_hours = CLICK_VISITORS.c.hour < int(before.timestamp()) // 3600
        async with self._database.write(CLICKS.name, no_timeout=True) as connection:
            await connection.execute(old.values(ip=None))
            await connection.execute(sa.delete(CLICK_VISITORS).where(past_hours))


class SqlRecentLinkClicks(SqlStore):
    """Implements the port `RecentLinkClicks`."""

    async def latest_human_click_by_tag(
        self, workspace_id: UUID, ip: str, since: datetime
    ) -> Mapping[str, datetime]:
        """Returns the tags of links that people at an IP address clicked, with the time of the latest click."""
        latest = sa.func.max(CLICKS.c.clicked_at, type_=CLICKS.c.clicked_at.type).label("latest")
        query = (
            sa.select(CLICKS.c.lyr, latest)
            .where(
                CLICKS.c.ip == ip,
                CLICKS.c.clicked_at >= since,
                CLICKS.c.workspace_id == workspace_id,
                CLICKS.c.is_bot.is_(False),
            )
            .group_by(CLICKS.c.lyr)
        )
        return {row["lyr"]: row["latest"] for row in await self._database.fetch_rows(query)}


class SqlLinkLookup(SqlStore):
    """Implements the port `LinkLookup`."""

    async def links_by_tag(self, workspace_id: UUID, tags: Collection[str]) -> Mapping[str, TaggedLink]:
        """Returns the links of a workspace by tag. A live link precedes a deleted one with the same tag."""
        query = (
            sa.select(RESOURCES.c.id, RESOURCES.c.state)
            .where(RESOURCES.c.workspace_id == workspace_id, RESOURCES.c.type == _LINK, _TAG.in_(tags))
            .order_by(RESOURCES.c.deleted_at.is_(None), RESOURCES.c.created_at)
        )
        rows = await self._database.fetch_rows(query)
        return {row["state"]["tracking_identifier"]: _tagged_link(row["id"], row["state"]) for row in rows}


def _insert_new_clicks_and_count_people(connection: sa.Connection, clicks: Sequence[Click]) -> None:
    new = _insert_new_clicks(connection, clicks)
    human = sorted((click for click in new if not click.is_bot), key=lambda click: click.link_id)
    if human:
        _add_to_click_counts(connection, human, _record_and_count_hourly_unique_clicks(connection, human))


def _insert_new_clicks(connection: sa.Connection, clicks: Sequence[Click]) -> list[Click]:
    """Inserts clicks and returns those that were not stored before."""
    insert = insert_if_absent(connection, CLICKS).returning(CLICKS.c.id)
    inserted = set(connection.execute(insert, [row_of(click) for click in clicks]).scalars())
    return [click for click in clicks if click.id in inserted]


def _record_and_count_hourly_unique_clicks(
    connection: sa.Connection, clicks: Sequence[Click]
) -> Counter[UUID]:
    """Returns by link how many visitors had not clicked it in the hour of their click."""
    visits = sorted({(click.hour_since_epoch, click.link_id, click.visitor_hash) for click in clicks})
    rows = [{"hour": hour, "link_id": link, "visitor": visitor} for hour, link, visitor in visits]
    insert = insert_if_absent(connection, CLICK_VISITORS).returning(CLICK_VISITORS.c.link_id)
    return Counter(connection.execute(insert, rows).scalars())


def _add_to_click_counts(
    connection: sa.Connection, human_clicks: Sequence[Click], unique_clicks_by_link: Counter[UUID]
) -> None:
    workspaces = {click.link_id: click.workspace_id for click in human_clicks}
    total = Counter(click.link_id for click in human_clicks)
    rows = [
        {
            "link_id": link,
            "workspace_id": owner,
            "clicks": total[link],
            "unique_clicks": unique_clicks_by_link[link],
        }
        for link, owner in workspaces.items()
    ]
    counts = CLICK_COUNTS.c
    add = upsert(
        connection,
        CLICK_COUNTS,
        counts.keys(),
        updated_values=lambda given: {
            name: counts[name] + given[name] for name in ("clicks", "unique_clicks")
        },
    )
    connection.execute(add, rows)


def _tagged_link(link_id: UUID, state: Mapping[str, Any]) -> TaggedLink:
    utm = {name: value for name, value in state.items() if name.startswith("utm_") and value}
    return TaggedLink(link_id, state["name"], state["target"] == "app", utm)
