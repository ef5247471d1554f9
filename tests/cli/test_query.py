"""``touchpoint query``: what it asks of the service, and what it prints."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from hosts.cli import app
from hosts.cli.client import ApiClient

HOURS = [datetime(2026, 7, 1, tzinfo=UTC) + timedelta(hours=place) for place in range(2)]


class Service:
    """Keeps the plans it gets, and answers each with the rows of two groups in two hours."""

    def __init__(self):
        self.plans = []

    def post(self, _path, plan):
        self.plans.append(plan)
        resolved = {
            "date_range": {
                "from": "2026-07-01T00:00:00.000Z", "to": "2026-07-01T01:59:59.999Z", "timezone": "UTC"
            },
            "interval": plan["interval"],
            **({"top": plan["top"]} if "top" in plan else {}),
        }  # fmt: skip
        named = [{"id": id_, "kind": "dimension"} for id_ in plan["dimensions"]]
        bucket = [{"id": "bucket", "kind": "bucket"}] if plan["interval"] else []
        rows = [
            {"bucket": hour.isoformat(), "visitors": 3, **dict.fromkeys(plan["dimensions"], group)}
            for hour in HOURS
            for group in ("google", "(other)")
        ]
        return {
            "columns": [*bucket, *named, {"id": "visitors", "kind": "metric", "unit": "count"}],
            "rows": rows,
            "totals": {"visitors": 9},
            "meta": {"resolved": resolved, "truncated": False, "unavailable": [], "did_you_mean": []},
        }


@pytest.fixture
def service(monkeypatch):
    served = Service()
    monkeypatch.setattr(ApiClient, "__init__", lambda *_: None)
    monkeypatch.setattr(ApiClient, "post", lambda _, path, plan: served.post(path, plan))
    return served


def query(*arguments):
    result = CliRunner().invoke(
        app, ["query", "visitors", *arguments, "--key", "k", "--api", "http://t.example"]
    )
    assert result.exit_code == 0, result.output
    return result.output


def size_of(plan):
    return {name: plan[name] for name in ("limit", "top") if name in plan}


def test_series_by_dimension_asks_for_whole_groups(service):
    output = query("--by", "utm_source", "--over", "hour", "--limit", "5")
    assert size_of(service.plans[0]) == {"top": {"limit": 5, "other": True}}
    assert output.count("(other)") == 2
    assert "largest" not in output


def test_series_by_several_dimensions_says_that_it_keeps_the_largest_groups(service):
    output = query("--by", "utm_source", "--by", "country", "--over", "hour")
    assert size_of(service.plans[0]) == {"top": {"limit": 20, "other": False}}
    assert "The largest 20 groups at most" in output


def test_other_queries_ask_for_rows(service):
    query("--by", "utm_source", "--limit", "7")
    query("--over", "hour")
    assert [size_of(plan) for plan in service.plans] == [{"limit": 7}, {"limit": 1000}]
    assert json.loads(json.dumps(service.plans))
