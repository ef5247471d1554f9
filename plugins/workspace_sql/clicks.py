"""Clicks on trackable links, their counts, and links by the tag that events carry, in SQL."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

from plugins.workspace_sql.changes_tables import RESOURCES
from plugins.workspace_sql.click_tables import CLICK_COUNTS, CLICK_VISITS, CLICKS
from plugins.workspace_sql.database import Database, insert_into
from service_core.plugin import Click, ClickCount, TaggedLink

_LINK: Final = "tracking_link"
_TAG: Final = RESOURCES.c.state["tracking_identifier"].as_string()
_COLUMNS: Final = tuple(column.name for column in CLICKS.columns)


class SqlClicks:
    """Implements the ports `Clicks`, `RecentLinkClicks` and `LinkLookup`."""

    _database: Database

    async def record_clicks(self, clicks: Sequence[Click]) -> None:
        """Keep clicks and count those of people, in one commit."""
        await self._database.run_in_transaction(lambda connection: _record(connection, clicks))

    async def count_clicks(
        self, workspace_id: UUID, link_ids: Collection[UUID] | None = None
    ) -> Mapping[UUID, ClickCount]:
        """Counts of the links of a workspace that were clicked."""
        query = sa.select(CLICK_COUNTS).where(CLICK_COUNTS.c.workspace_id == workspace_id)
        if link_ids is not None:
            query = query.where(CLICK_COUNTS.c.link_id.in_(link_ids))
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings()
            return {row["link_id"]: ClickCount(row["clicks"], row["unique_clicks"]) for row in rows}

    async def purge_click_ips(self, before: datetime) -> None:
        """Empty old addresses, and let go of visits in hours before the instant."""
        old = sa.update(CLICKS).where(CLICKS.c.ip.is_not(None), CLICKS.c.clicked_at < before)
        hour = int(before.timestamp()) // 3600
        async with self._database.write(CLICKS.name, no_timeout=True) as connection:
            await connection.execute(old.values(ip=None))
            await connection.execute(sa.delete(CLICK_VISITS).where(CLICK_VISITS.c.hour < hour))

    async def latest_click_by_tag(
        self, workspace_id: UUID, ip: str, since: datetime
    ) -> Mapping[str, datetime]:
        """Tags a person at an address clicked since an instant, each with its latest click."""
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
        async with self._database.read() as connection:
            rows = await connection.execute(query)
            return {row.lyr: row.latest for row in rows}

    async def links_by_tag(self, workspace_id: UUID, tags: Collection[str]) -> Mapping[str, TaggedLink]:
        """The links of a workspace with these tags; a live one before a deleted one of the same tag."""
        query = (
            sa.select(RESOURCES.c.id, RESOURCES.c.state)
            .where(RESOURCES.c.workspace_id == workspace_id, RESOURCES.c.type == _LINK, _TAG.in_(tags))
            .order_by(RESOURCES.c.deleted_at.is_(None), RESOURCES.c.created_at)
        )
        async with self._database.read() as connection:
            rows = await connection.execute(query)
            return {state["tracking_identifier"]: _tagged(link_id, state) for link_id, state in rows}


def _record(connection: sa.Connection, clicks: Sequence[Click]) -> None:
    new = _kept(connection, clicks)
    people = sorted((click for click in new if not click.is_bot), key=lambda click: click.link_id)
    if people:
        _count(connection, people, _first_ones(connection, people))


def _kept(connection: sa.Connection, clicks: Sequence[Click]) -> list[Click]:
    """Keep clicks; returns those that were not kept before."""
    rows = [{name: getattr(click, name) for name in _COLUMNS} for click in clicks]
    insert = insert_into(connection, CLICKS).on_conflict_do_nothing()
    new = set(connection.execute(insert.returning(CLICKS.c.id), rows).scalars())
    return [click for click in clicks if click.id in new]


def _first_ones(connection: sa.Connection, people: Sequence[Click]) -> Counter[UUID]:
    """Link -> visitors who had not clicked it in their hour."""
    visits = sorted({(click.hour_since_epoch, click.link_id, click.visitor_hash) for click in people})
    rows = [{"hour": hour, "link_id": link, "visitor": visitor} for hour, link, visitor in visits]
    insert = insert_into(connection, CLICK_VISITS).on_conflict_do_nothing()
    return Counter(connection.execute(insert.returning(CLICK_VISITS.c.link_id), rows).scalars())


def _count(connection: sa.Connection, people: Sequence[Click], first: Counter[UUID]) -> None:
    owners = {click.link_id: click.workspace_id for click in people}
    clicks = Counter(click.link_id for click in people)
    rows = [
        {"link_id": link, "workspace_id": owner, "clicks": clicks[link], "unique_clicks": first[link]}
        for link, owner in owners.items()
    ]
    insert = insert_into(connection, CLICK_COUNTS)
    more = {name: CLICK_COUNTS.c[name] + insert.excluded[name] for name in ("clicks", "unique_clicks")}
    connection.execute(insert.on_conflict_do_update(index_elements=["link_id"], set_=more), rows)


def _tagged(link_id: UUID, state: Mapping[str, Any]) -> TaggedLink:
    utm = {name: value for name, value in state.items() if name.startswith("utm_") and value}
    return TaggedLink(link_id, state["name"], state["target"] == "app", utm)
