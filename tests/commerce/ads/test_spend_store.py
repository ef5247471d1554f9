"""What the store of spend promises: versions of days, exact sums, and what each entity is called."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from uuid import uuid4

import pytest

from plugins import workspace_sql
from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.ads.models import AdEntity, AdLevel, SpendRow
from service_core.commerce.ads.ports import SpendQuery
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.memory.ad_spend import MemoryAdSpend

REGISTRY = collect_plugins_into_registry([("workspace_sql", workspace_sql)], discover_entry_points=False)
NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
DAY = date(2026, 7, 1)
REELS = AdEntity(AdLevel.CAMPAIGN, "c1", "reels", status="active")
ROW = SpendRow(
    "meta", "act_1", REELS, DAY, "USD", "America/New_York", NOW,
    spend=10_00, impressions=1000, clicks=10, reach=900, conversions=1.5, conversion_value=30_00,
)  # fmt: skip


@pytest.fixture
async def store_and_workspaces(store_url, tmp_path):
    """A store, and two workspaces it knows."""
    if store_url is None:
        yield MemoryAdSpend(), uuid4(), uuid4()
        return
    directory = REGISTRY.open_adapter("workspace", store_url, base_folder=tmp_path)
    await directory.start()
    initialized_deployment = [
        await create_workspace_with_keys(directory.credentials, NOW, name=name) for name in ("One", "Other")
    ]
    yield directory.ad_spend, *(each.workspace.id for each in initialized_deployment)
    await directory.aclose()


def spend_query(workspace_id, *by, level=AdLevel.CAMPAIGN, **fields):
    return SpendQuery(workspace_id, DAY, DAY + timedelta(days=30), level, by, **fields)


def row_fetched_later(row, hours=1, **fields):
    return replace(row, fetched_at=row.fetched_at + timedelta(hours=hours), **fields)


async def test_latest_version_of_a_spend_day_counts_in_any_order(
    store_and_workspaces,
):
    store, workspace_id, _ = store_and_workspaces
    await store.add_new_spend_versions(workspace_id, [row_fetched_later(ROW, spend=12_00)])
    await store.add_new_spend_versions(workspace_id, [ROW, row_fetched_later(ROW, -1, spend=99_00)])
    (found,) = await store.sum_latest_spend(spend_query(workspace_id))
    assert (found.spend, found.rows, found.conversions) == (12_00, 1, 1.5)
    await store.add_new_spend_versions(
        workspace_id, [row_fetched_later(ROW, 3, spend=7_00), row_fetched_later(ROW, 2, spend=8_00)]
    )
    (found,) = await store.sum_latest_spend(spend_query(workspace_id))
    assert found.spend == 7_00


async def test_changed_attribution_setting_does_not_double_spend(store_and_workspaces):
    store, workspace_id, _ = store_and_workspaces
    await store.add_new_spend_versions(
        workspace_id, [ROW, row_fetched_later(ROW, attribution_setting="7d_click", conversions=1)]
    )
    (found,) = await store.sum_latest_spend(spend_query(workspace_id))
    assert (found.spend, found.conversions) == (10_00, 1)


async def test_missing_figure_makes_the_sum_null(store_and_workspaces):
    store, workspace_id, _ = store_and_workspaces
    other = replace(ROW, entity=replace(REELS, campaign_id="c2"), spend=None, conversions=None)
    await store.add_new_spend_versions(workspace_id, [ROW, other])
    (found,) = await store.sum_latest_spend(spend_query(workspace_id))
    assert (found.rows, found.spend, found.conversions, found.clicks) == (2, None, None, 20)
    by_campaign = {
        sums.keys: sums.spend
        for sums in await store.sum_latest_spend(spend_query(workspace_id, "campaign_id"))
    }
    assert by_campaign == {("c1",): 10_00, ("c2",): None}


async def test_currencies_and_levels_are_never_added_to_each_other(store_and_workspaces):
    store, workspace_id, _ = store_and_workspaces
    group = AdEntity(AdLevel.GROUP, "c1", "reels", "g1", "adults")
    euros = replace(ROW, account_id="act_2", currency="EUR", spend=5_00)
    await store.add_new_spend_versions(workspace_id, [ROW, euros, replace(ROW, entity=group, spend=9_00)])
    assert {
        sums.currency: sums.spend for sums in await store.sum_latest_spend(spend_query(workspace_id))
    } == {
        "USD": 10_00,
        "EUR": 5_00,
    }
    (found,) = await store.sum_latest_spend(
        spend_query(workspace_id, "group_id", "campaign_name", level=AdLevel.GROUP)
    )
    assert (found.keys, found.spend) == (("g1", "reels"), 9_00)


async def test_ad_entity_has_its_latest_name(store_and_workspaces):
    store, workspace_id, _ = store_and_workspaces
    await store.add_new_spend_versions(workspace_id, [ROW])
    renamed = replace(REELS, campaign_name="reels 2", status="paused")
    await store.add_new_spend_versions(
        workspace_id, [row_fetched_later(replace(ROW, day=DAY + timedelta(days=1)), entity=renamed)]
    )
    await store.add_new_spend_versions(
        workspace_id, [row_fetched_later(ROW, -1, entity=replace(REELS, campaign_name="old"))]
    )
    assert await store.list_ad_entities_with_latest_names(workspace_id, AdLevel.CAMPAIGN) == [
        ("meta", "act_1", renamed)
    ]
    (found,) = await store.sum_latest_spend(spend_query(workspace_id, "campaign_name"))
    assert (found.keys, found.spend) == (("reels 2",), 20_00)


async def test_spend_is_isolated_by_workspace(store_and_workspaces):
    store, workspace_id, other = store_and_workspaces
    await store.add_new_spend_versions(workspace_id, [ROW])
    assert await store.sum_latest_spend(spend_query(other)) == []
    assert await store.list_ad_entities_with_latest_names(other, AdLevel.CAMPAIGN) == []
    assert await store.list_platforms_with_spend(other) == frozenset()
    assert await store.list_platforms_with_spend(workspace_id) == {"meta"}


async def test_no_spend_returns_no_sums(store_and_workspaces):
    store, workspace_id, _ = store_and_workspaces
    await store.add_new_spend_versions(workspace_id, [])
    assert await store.sum_latest_spend(spend_query(workspace_id)) == []


def generated_rows(chance):
    """A row of a small scenario: the same days over and over, restated, renamed, in any order."""
    level = chance.choice(list(AdLevel))
    campaign, group, ad = (chance.choice(ids) for ids in (("c1", "c2"), ("g1", "g2"), ("a1", "a2")))
    entity = AdEntity(
        level, campaign, chance.choice(["Sale", "sale", None]), status=chance.choice(["on", "off"])
    )
    if level is not AdLevel.CAMPAIGN:
        entity = replace(entity, group_id=group, group_name=chance.choice(["all", None]))
    if level is AdLevel.AD:
        entity = replace(entity, ad_id=ad, ad_name=chance.choice(["film", "still"]))

    def figure(most):
        return chance.choice([None, 0, *(chance.randint(0, most) for _ in range(6))])

    return replace(
        ROW, platform=chance.choice(["meta", "google"]), account_id=chance.choice(["1", "2"]),
        entity=entity, day=DAY + timedelta(days=chance.randint(0, 3)),
        currency=chance.choice(["USD", "USD", "EUR"]), fetched_at=NOW + timedelta(hours=chance.randint(0, 3)),
        spend=figure(10**6), clicks=figure(9), conversions=chance.choice([None, 0.1, 0.2, 3]),
        attribution_setting=chance.choice(["", "7d"]),
    )  # fmt: skip


def sort_sums(found):
    return sorted(found, key=lambda sums: (repr(sums.keys), sums.currency))


@pytest.mark.parametrize("seed", range(3))
async def test_database_agrees_with_the_memory_store(store_and_workspaces, seed):
    store, workspace_id, _ = store_and_workspaces
    oracle, chance = MemoryAdSpend(), Random(seed)
    for size in (40, 1, 60):
        rows = [generated_rows(chance) for _ in range(size)]
        for each in (store, oracle):
            await each.add_new_spend_versions(workspace_id, rows)
    names = ["platform", "account_id", "campaign_id", "campaign_name", "group_name", "ad_id", "day"]
    for level in AdLevel:
        assert await store.list_ad_entities_with_latest_names(
            workspace_id, level
        ) == await oracle.list_ad_entities_with_latest_names(workspace_id, level)
        for _ in range(6):
            by = chance.sample(names, chance.randint(0, 4))
            request = spend_query(
                workspace_id, *by, level=level, platforms=chance.choice([None, ["meta"], []])
            )
            request = replace(request, last=DAY + timedelta(days=chance.randint(0, 3)))
            assert sort_sums(await store.sum_latest_spend(request)) == sort_sums(
                await oracle.sum_latest_spend(request)
            )


async def test_unreadable_spend_is_unverified_and_not_absent(store_and_workspaces, monkeypatch):
    store, workspace_id, _ = store_and_workspaces

    def broken():
        raise StoreUnavailable

    if isinstance(store, MemoryAdSpend):
        store.down = True
    else:
        monkeypatch.setattr(store._database, "read", broken)
    for read in (
        store.sum_latest_spend(spend_query(workspace_id)),
        store.list_ad_entities_with_latest_names(workspace_id, AdLevel.AD),
        store.list_platforms_with_spend(workspace_id),
    ):
        with pytest.raises(StoreUnavailable):
            await read
