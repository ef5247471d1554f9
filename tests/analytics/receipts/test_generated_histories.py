"""Receipts of generated histories on each store: each adds up, and has the value of the query."""

import os

import pytest
from hypothesis import given, settings

from service_core.testing.random_datasets import random_datasets
from tests.analytics.dataset_client import load_dataset_client
from tests.analytics.deployment import run_deployment
from tests.analytics.receipts.receipt_reads import require_receipt_of_value
from tests.fixtures.every_event_store import registry_and_url_of_event_store

EXAMPLES = int(os.environ.get("TOUCHPOINT_EXAMPLES", "2"))
DIMENSIONS = ("channel", "country", "new_vs_returning")
METRICS_OF_AN_EXAMPLE = 8


@pytest.fixture(params=["memory", "duckdb", "postgresql"])
async def served(request, tmp_path):
    with registry_and_url_of_event_store(request.param, request, tmp_path) as (registry, url):
        async with run_deployment(url, tmp_path, registry) as deployment:
            yield deployment


@settings(max_examples=EXAMPLES)
@given(drawn=random_datasets(40))
async def test_receipts_add_up_to_the_values_of_the_query(served, drawn):
    dataset, random = drawn
    shop = await load_dataset_client(served, dataset)
    listed = (await shop.get("/metrics/catalog"))["metrics"]
    metrics = [each for each in listed if each["has_receipt"]]
    for metric in random.sample(metrics, METRICS_OF_AN_EXAMPLE):
        accepted = [id_ for id_ in DIMENSIONS if id_ in metric["dimensions"]]
        plan = {
            "metrics": [metric["id"]],
            "dimensions": accepted[:1],
            "interval": "day",
            "date_range": shop.range,
        }
        answer = await shop.post("/query", plan)
        total = answer["totals"][metric["id"]]
        opened = await require_receipt_of_value(shop.client, plan, metric["id"], total)
        assert opened.answer["value"] == total
        for row in random.sample(answer["rows"], min(2, len(answer["rows"]))):
            key = {name: row[name] for name in ("bucket", *plan["dimensions"])}
            opened = await require_receipt_of_value(shop.client, plan, metric["id"], row[metric["id"]], key)
            assert opened.answer["value"] == row[metric["id"]]
