"""One command with metrics: every process counts, the listener adds up, and nothing in logs or labels tells on a person."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hosts.monitoring import metrics_endpoint
from tests.fixtures.processes import read_output_pairs, running_process, stop_process
from tests.fixtures.waiting import wait_until_true

CLIENT = "203.0.113.77"


def fetch(url, headers=None, body=None):
    request = urllib.request.Request(url, body, headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A running service with metrics and a quick canary, some requests, and what it logged."""
    folder = tmp_path_factory.mktemp("watched")
    cli = [sys.executable, "-m", "hosts.cli"]
    made = subprocess.run(
        [*cli, "init", str(folder / "shop"), "--json"], capture_output=True, text=True, check=True
    )
    result = json.loads(made.stdout)
    settings = Path(result["config"])
    text = settings.read_text()
    text = text.replace('# listen = ""', 'listen = "127.0.0.1:0"')
    text = text.replace("# canary_interval_seconds = 60", "canary_interval_seconds = 0.2").replace(
        "# trusted_proxies = []", 'trusted_proxies = ["127.0.0.1"]'
    )
    settings.write_text(text.replace('# root_url = ""', 'root_url = "https://t.example"'))
    with (
        (folder / "log").open("w") as log,
        running_process(
            [*cli, "serve", "--config", str(settings), "--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=log,
        ) as process,
    ):  # fmt: skip
        yield {**result, **read_output_pairs(process, 3), "log": folder / "log"}
        assert stop_process(process) == 0


def read_metrics(service):
    _, text = fetch(f"{service['metrics']}/metrics")
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_events_appends_and_reads_of_both_processes_are_counted(service):
    key = {"X-API-Key": service["write_key"], "X-Forwarded-For": CLIENT}
    for number in range(3):
        body = json.dumps(
            {"event_name": "page_view", "anonymous_id": "a", "event_id": f"e{number % 2}"}
        ).encode()
        assert fetch(f"{service['ingest']}/track", key, body)[0] == 200
    fetch(f"{service['ingest']}/track", key, b"{}")
    agent = {"Authorization": f"Bearer {service['agent_key']}"}
    assert fetch(f"{service['api']}/v1/exports/123?email=ada@example.com", agent)[0] == 404
    assert fetch(f"{service['api']}/v1/realtime", agent)[0] == 200
    fetch(f"{service['api']}/no/such/ada@example.com")

    request, api = "touchpoint_requests_total", (("host", "api"), ("method", "GET"))
    once = {
        (request, *api, ("route", "/v1/exports/{exportId}"), ("status", "404")),
        (request, *api, ("route", "(other)"), ("status", "404")),
        ("touchpoint_events_total", ("outcome", "duplicate")),
        ("touchpoint_events_total", ("outcome", "rejected_no_event_name")),
        ("touchpoint_request_seconds_count", ("host", "api"), ("route", "/v1/realtime")),
    }
    at_least = dict.fromkeys(once, 1) | {
        (request, ("host", "ingest"), ("method", "POST"), ("route", "/track"), ("status", "200")): 3,
        ("touchpoint_events_stored_total",): 3,
        ("touchpoint_events_total", ("outcome", "queued")): 2,
        ("touchpoint_canary_seen_timestamp_seconds",): 1,
        ("touchpoint_append_seconds_count",): 1,
        ("touchpoint_consumer_lag_seconds_count",): 1,
        ("touchpoint_store_read_seconds_count", ("read", "list_visitors_with_recently_received_events")): 1,
    }

    def counted():  # a request is counted when it was answered, and whoever asked knows that earlier
        now = read_metrics(service)
        return now if all(now.get(name, 0) >= number for name, number in at_least.items()) else None

    found = wait_until_true(counted)
    assert {name: found[name] for name in once} == dict.fromkeys(once, 1)
    assert found[request, ("host", "ingest"), ("method", "POST"), ("route", "/track"), ("status", "200")] == 3
    assert found["touchpoint_canary_lag_seconds",] < 60
    assert fetch(f"{service['api']}/v1/users/a", agent)[0] == 200
    for read in ("find_person_of_any_id", "read_activity"):
        wait_until_true(
            lambda read=read: read_metrics(service).get(
                ("touchpoint_store_read_seconds_count", ("read", read))
            )
        )
    wait_until_true(lambda: read_metrics(service).get(("touchpoint_exports", ("status", "queued"))) == 0)
    assert not any("ada" in part for name in found for pair in name[1:] for part in pair)


def test_each_process_exports_liveness_and_probe_results(service):
    wanted = {
        "ingest": {"queue", "cache", "versions", "disk", "alive"},
        "consumer": {"queue", "cache", "versions", "alive"},
        "all": {"store", "queue", "limiter", "cache", "versions", "disk", "canary", "alive"},
    }

    def ready():
        status, text = fetch(f"{service['metrics']}/ready")
        result = json.loads(text)["roles"]
        return result if status == 200 and {role: set(result[role]) for role in result} == wanted else None

    roles = wait_until_true(ready)
    assert {state for checks in roles.values() for state in checks.values()} == {"ok"}
    assert json.loads(fetch(f"{service['metrics']}/health")[1]) == {"status": "ok"}
    checks = json.loads(fetch(f"{service['api']}/ready")[1])["checks"]
    assert (checks["canary"], checks["processes"]) == ("ok", "ok")
    assert fetch(f"{service['metrics']}/other")[0] == 404


def test_free_public_signup_is_logged_once(service):
    reported = [json.loads(line) for line in service["log"].read_text().splitlines()]
    (caution,) = [one for one in reported if one["logger"] == "touchpoint.settings"]
    assert caution["level"] == "warning"
    assert "signup.checkout is sandbox://" in caution["event"]


def test_logs_contain_no_secrets_or_personal_data(service):
    fetch(f"{service['api']}/v1/realtime", {"Authorization": "Bearer dk_agent_" + "x" * 43})
    fetch(f"{service['ingest']}/track", {"X-API-Key": service["write_key"]}, b'{"email":"ada@example.com"')
    logged = service["log"].read_text()
    for planted in (service["write_key"], service["agent_key"], "ada@example.com", CLIENT, "Bearer"):
        assert planted not in logged
    assert all(json.loads(line)["event"] for line in logged.splitlines())
    assert not re.search(r"\d+\.\d+\.\d+\.\d+", logged)


async def test_readiness_of_the_api_and_of_the_metrics_endpoint_are_degraded_together(tmp_path, monkeypatch):
    """A process that gave no sign of life for a minute degrades both."""
    states = {"ok": {"api": {"alive": "ok"}}, "degraded": {"consumer": {"alive": "degraded"}}}
    probe = metrics_endpoint.build_processes_probe(tmp_path)
    for status, roles in states.items():
        monkeypatch.setattr(
            metrics_endpoint, "summarize_readiness_by_role", lambda *_, status=status, roles=roles: {"status": status, "roles": roles},
        )  # fmt: skip
        assert (await probe.check()).ok is (status == "ok")
