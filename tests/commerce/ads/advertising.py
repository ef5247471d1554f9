"""A shop that advertises: connections, and spend as the platforms told it."""

from dataclasses import replace
from datetime import date, datetime

from service_core.commerce.ads.model import Entity, Level, SpendRow
from service_core.insight.connections.model import (
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from tests.insight.served import NOW

DAY = date(2026, 7, 1)


def campaign(id_, name=None):
    return Entity(Level.CAMPAIGN, id_, name or id_, status="active")


def group(id_, *, of="c1"):
    return Entity(Level.GROUP, of, of, id_, id_, status="active")


def ad(id_, *, of=("c1", "g1")):
    return Entity(Level.AD, of[0], of[0], of[1], of[1], id_, id_, status="active")


def row(platform, entity, day=DAY, *, account="act_1", currency="USD", **figures):
    day = day if isinstance(day, date) else date.fromisoformat(day)
    return SpendRow(platform, account, entity, day, currency, "America/Los_Angeles", NOW, **figures)


async def connect(shop, platform, *, accounts=("act_1",), read: datetime | None = NOW, **said):
    """The workspace has an ad platform that was read at an instant."""
    found = tuple(
        ConnectedAccount(id_, f"{platform} {id_}", (), "USD", "America/Los_Angeles") for id_ in accounts
    )
    connection = Connection(
        shop.workspace.id,
        platform,
        ProviderKind.ADS,
        ConnectionStatus.CONNECTED,
        NOW,
        found,
        last_synced_at=read,
    )
    await shop.service.ports.workspace.save_connection(replace(connection, **said))


async def spent(shop, *rows):
    await shop.service.ports.workspace.add_spend(shop.workspace.id, rows)
