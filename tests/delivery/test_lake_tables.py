"""The tables of the lake besides the events, on every event store: payments and ad spend."""

from dataclasses import replace
from datetime import date, timedelta

import duckdb
import polars as pl
import pytest

from hosts.cli.dbt_sources import describe_dbt_sources
from service_core.commerce.ads.models import AdEntity, AdLevel, SpendRow
from tests.delivery.conftest import NOW
from tests.delivery.test_lake import LakeClient
from tests.fixtures.every_event_store import EVERY_EVENT_STORE, registry_and_url_of_event_store

DAY = date(2026, 7, 2)
CAMPAIGN = AdEntity(AdLevel.CAMPAIGN, "c1", "Summer")
ROW = SpendRow("meta", "act_1", CAMPAIGN, DAY, "EUR", "Europe/Rome", NOW, spend=10_50, clicks=7)


class MoneyLakeClient(LakeClient):
    """A lake whose tables are read."""

    def files_of(self, table):
        return self.manifest["tables"].get(table, {"files": []})["files"]

    def table(self, table):
        files = self.files_of(table)
        paths = [self.root / file["path"] for file in files]
        return pl.read_parquet(paths, hive_partitioning=True).to_dicts() if paths else []

    async def spend(self, *rows):
        await self.service.ports.workspace.ad_spend.add_new_spend_versions(self.workspaces["shop"].id, rows)


@pytest.fixture(params=EVERY_EVENT_STORE)
async def any_lake(request, tmp_path):
    with registry_and_url_of_event_store(request.param, request, tmp_path) as (registry, url):
        client = MoneyLakeClient(tmp_path, url, registry)
        async with client.service:
            await client.found("shop", timezone="America/New_York")
            client.builder = client.story()
            yield client


@pytest.fixture
async def lake(tmp_path):
    client = MoneyLakeClient(tmp_path, "memory://")
    async with client.service:
        await client.found("shop", timezone="America/New_York")
        client.builder = client.story()
        yield client


async def test_payments_are_those_of_the_metrics_in_their_own_currency(any_lake):
    lake = any_lake
    order = {"order_id": "o1", "revenue": 123_45, "currency": "USD"}
    await lake.add("purchase", "2026-07-02T12:00", "V1", **order, event_data={"tax": 5})
    await lake.add("purchase", "2026-07-02T12:05", "V1", **order)
    await lake.add("purchase", "2026-07-03T23:00", "V2", order_id="o2", revenue=500, currency="JPY")
    await lake.add("refund", "2026-07-04T12:00", "V1", order_id="o1", revenue=-20_00, currency="USD")
    await lake.add("page_view", "2026-07-05T12:00", "V1")
    await lake.write()
    assert lake.days()["2026-07-02"] == 2
    paid = [
        (str(row["date"]), row["kind"], row["is_order"], row["order_id"], str(row["amount"]), row["currency"])
        for row in lake.table("payments")
    ]
    assert paid == [
        ("2026-07-02", "charge", True, "o1", "123.4500", "USD"),
        ("2026-07-03", "charge", True, "o2", "500.0000", "JPY"),
        ("2026-07-04", "refund", False, "o1", "20.0000", "USD"),
    ]
    plan = {"metrics": ["orders"], "date_range": {"from": "2026-07-01", "to": "2026-07-07"}}
    answer = await lake.ask("POST", "/v1/query", plan)
    assert answer.json["rows"][0]["orders"] == sum(row["is_order"] for row in lake.table("payments"))


async def test_parts_that_a_provider_does_not_report_are_null(lake):
    paid = {"revenue": 10_00, "currency": "USD", "order_id": "o1", "tax": 2_00}
    await lake.add("purchase", "2026-07-02T12:00", "V1", **paid, source="stripe")
    await lake.write()
    (row,) = lake.table("payments")
    assert (row["provider"], str(row["tax"]), row["shipping"], row["fee"]) == ("stripe", "2.0000", None, None)


async def test_earlier_report_of_an_order_moves_its_payment_to_its_day(lake):
    order = {"order_id": "o1", "revenue": 10_00, "currency": "USD"}
    await lake.add("purchase", "2026-07-05T12:00", "V1", **order)
    await lake.write()
    await lake.add("purchase", "2026-07-03T12:00", "V1", **order)
    await lake.write()
    assert [file["day"] for file in lake.files_of("payments")] == ["2026-07-03"]
    assert len(list(lake.root.glob("payments/*/*.parquet"))) == 1


async def test_spend_of_campaigns_is_written_as_it_was_reported_last(lake):
    await lake.spend(ROW, replace(ROW, day=DAY + timedelta(days=1), spend=None))
    await lake.write()
    before = lake.files_of("spend")
    restated = replace(ROW, spend=12_00, fetched_at=NOW + timedelta(hours=1))
    await lake.spend(restated)
    await lake.write()
    after = lake.files_of("spend")
    assert before[0] != after[0]
    assert before[1] == after[1]
    rows = [(row["campaign_name"], row["spend"], row["clicks"]) for row in lake.table("spend")]
    assert [(name, str(spend), clicks) for name, spend, clicks in rows] == [
        ("Summer", "12.0000", 7),
        ("Summer", "None", 7),
    ]


async def test_table_without_rows_is_not_in_the_manifest(lake):
    await lake.add("page_view", "2026-07-05T12:00", "V1")
    await lake.write()
    assert lake.manifest["tables"] == {}


async def test_duckdb_reads_payments_by_the_source_of_dbt(lake):
    await lake.add("purchase", "2026-07-02T12:00", "V1", order_id="o1", revenue=10_00, currency="USD")
    await lake.write()
    _, payments, _ = describe_dbt_sources(str(lake.root))["sources"][0]["tables"]
    connection = duckdb.connect()
    connection.execute(payments["meta"]["on_run_start"])
    read = connection.sql(f"select date, amount from {payments['meta']['external_location']}").fetchall()
    assert [(str(day), str(amount)) for day, amount in read] == [("2026-07-02", "10.0000")]
