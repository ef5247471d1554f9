"""A shop that advertises: connections, and spend as the platforms told it."""

from dataclasses import replace
from datetime import date, datetime, timedelta

from service_core.analytics.connections.models import (
    ConnectedAccount,
    Connection,
    ConnectionStatus,
    ProviderKind,
)
from service_core.commerce.ads.models import AdEntity, AdLevel, SpendRow
from service_core.testing.random_datasets import DAYS
from tests.analytics.dataset_client import load_dataset_client
from tests.analytics.deployment import NOW

DAY = date(2026, 7, 1)


def ad_campaign(id_, name=None):
    return AdEntity(AdLevel.CAMPAIGN, id_, name or id_, status="active")


def ad_group(id_, *, of="c1"):
    return AdEntity(AdLevel.GROUP, of, of, id_, id_, status="active")


def ad(id_, *, of=("c1", "g1")):
    return AdEntity(AdLevel.AD, of[0], of[0], of[1], of[1], id_, id_, status="active")


def spend_row(platform, entity, day=DAY, *, account="act_1", currency="USD", **figures):
    day = day if isinstance(day, date) else date.fromisoformat(day)
    return SpendRow(platform, account, entity, day, currency, "America/Los_Angeles", NOW, **figures)


async def connect_ad_platform(shop, platform, *, accounts=("act_1",), read: datetime | None = NOW, **fields):
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
    await shop.service.ports.workspace.connections.save_connection_keeping_created_at(
        replace(connection, **fields)
    )


async def save_spend(shop, *rows):
    await shop.service.ports.workspace.ad_spend.add_new_spend_versions(shop.workspace.id, rows)


CAMPAIGNS = (
    ("meta", "spring"),
    ("meta", "Éclair"),
    ("google", "AUTUMN"),
    ("google", "spring"),
    ("tiktok", "tt"),
)
"""Campaigns of generated worlds; visits of these carry some of their names."""


def generated_spend(scenario, chance, *, flawed=False):
    """What platforms told of the days of a scenario and those around it; ``flawed`` with money and figures missing."""
    platforms = chance.sample(["meta", "google", "tiktok"], chance.randint(1, 3))
    for platform, name in CAMPAIGNS:
        for day in range(-2, DAYS + 3) if platform in platforms else ():
            if chance.random() < 0.6:
                figures = {
                    "spend": chance.randint(0, 10**5), "impressions": chance.randint(0, 9999),
                    "clicks": chance.randint(0, 99), "conversions": chance.choice([0, 1, 2.5, 0.1]),
                    "conversion_value": chance.choice([0, 12_34, 100_00]),
                }  # fmt: skip
                if flawed and chance.random() < 0.02:
                    figures[chance.choice(list(figures))] = None
                currency = "EUR" if flawed and chance.random() < 0.02 else "USD"
                at = (scenario.start + timedelta(days=day)).date()
                yield spend_row(
                    platform, ad_campaign(f"{platform}-{name}", name), at, currency=currency, **figures
                )


async def load_advertising_world(served, scenario, chance, **flaws):
    """A workspace of a generated scenario, and the spend its platforms report."""
    asking = await load_dataset_client(served, scenario)
    result = list(generated_spend(scenario, chance, **flaws))
    await save_spend(asking.client, *result)
    platforms = sorted({each.platform for each in result} or {"meta"})
    for platform in platforms:
        await connect_ad_platform(asking.client, platform, read=served.now)
    return asking, result, platforms
