"""Real traffic through the whole service: imported, counted, queried, and kept after a kill."""

import gzip
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from hosts.demo.demo_service import RunningService
from tests.e2e.conftest import GUARD_SECONDS, LOG, initialize_deployment, run_touchpoint, wait_until
from tests.fixtures.processes import read_output_pairs, running_process

RECENT = {
    "start_date": (datetime.now(UTC) - timedelta(days=6)).date().isoformat(),
    "end_date": (datetime.now(UTC) + timedelta(days=1)).date().isoformat(),
}
PAGE = re.compile(r'"GET (?P<path>[^ ?"]+)[^"]*" (?P<status>[23]\d\d) ')


def parse_page_requests() -> int:
    """Counted by a second, simpler reading of the log: answered GETs of what is no file and no feed."""
    count = 0
    for line in gzip.decompress(LOG.read_bytes()).decode(errors="replace").splitlines():
        found = PAGE.search(line)
        if not found:
            continue
        path = found["path"]
        suffix = re.search(r"\.([A-Za-z][A-Za-z0-9]{0,5})$", path)
        file = suffix and suffix[1].lower() not in {"html", "htm", "xhtml", "shtml", "php", "cgi", "md"}
        feed = re.search(r"/(rss|atom|feeds?)/?$", path)
        count += not file and not feed
    return count


def read_logged_days(deployment) -> int:
    """Page views of the log: it alone spells the event without an underscore."""
    status, rows = deployment.get("/v1/events", event_name="pageview", limit=1, include_bots="true", **RECENT)
    assert status == 200
    return rows["total_count"]


def test_every_page_request_of_the_log_is_a_page_view(deployment):
    assert read_logged_days(deployment) == parse_page_requests()
    _, answer = deployment.get("/v1/overview", include_bots="true", **RECENT)
    assert sum(bucket["pageviews"] for bucket in answer["time_series"]) == answer["pageviews_total"]


def test_crawler_visits_are_stored_and_excluded_by_default(deployment):
    _, people = deployment.get("/v1/overview", **RECENT)
    _, everyone = deployment.get("/v1/overview", include_bots="true", **RECENT)
    assert 0 < people["visitors_total"] < everyone["visitors_total"]
    assert people["visitors_total"] <= people["sessions_total"] <= people["pageviews_total"]
    assert people["complete"]


def test_traffic_is_split_by_source(deployment):
    _, referrers = deployment.get("/v1/traffic", type="referrer", limit=100, **RECENT)
    names = [row["name"] for row in referrers["data"]]
    assert names[:2] == ["(direct)", "google.com"]
    assert "semicomplete.com" not in names
    _, systems = deployment.get("/v1/devices", type="os", **RECENT)
    assert {"Windows", "Linux", "macOS"} <= {row["name"] for row in systems["data"]}


def test_importing_a_file_again_adds_nothing(deployment):
    before = read_logged_days(deployment)
    result = run_touchpoint(
        "import", "access-log", str(LOG), "--shift-to-now", "--config", str(deployment.config)
    )
    assert "Brought in before" in result
    (deployment.config.parent / "imports.json").unlink()
    result = run_touchpoint(
        "import", "access-log", str(LOG), "--shift-to-now", "--config", str(deployment.config)
    )
    assert "duplicate" in result
    assert read_logged_days(deployment) == before


def test_acknowledged_event_is_queryable_within_two_seconds(deployment):
    waits = []
    for event in map("step {}".format, range(10)):  # a machine with other work may be late, but not always
        body = {"event": event, "user_id": "u-walk", "event_id": f"walk-{event}"}
        assert deployment.track(**body)[1]["success"]
        sent = time.monotonic()
        wait_until(lambda event=event: event in deployment.get("/v1/event-names")[1]["event_names"])
        waits.append(time.monotonic() - sent)
        if waits[-1] < 2:
            break
    assert min(waits) < 2
    assert deployment.track(**body)[1] == {
        "success": False, "error": "Duplicate event detected", "event_id": body["event_id"]
    }  # fmt: skip


def test_ledger_accounts_for_every_event(deployment):
    today = datetime.now(UTC).date().isoformat()
    ledger = wait_until(
        lambda: (
            (answer := deployment.get("/v1/ledger", start_date=today, end_date=today)[1])["totals"][
                "in_flight"
            ]
            == 0
            and answer
        )
    )
    assert ledger["balanced"]
    totals = ledger["totals"]
    assert totals["received"] == totals["stored"] + totals["duplicate"] + totals["rejected"]


def test_revoked_key_is_refused_at_once(deployment):
    made = run_touchpoint("key", "create", "--json", "--config", str(deployment.config))
    key, key_id = re.search(r'"key": "([^"]+)"', made)[1], re.search(r'"id": "([^"]+)"', made)[1]
    assert deployment.get("/v1/workspace", key=key)[0] == 200
    run_touchpoint("key", "revoke", key_id, "--config", str(deployment.config))
    assert deployment.get("/v1/workspace", key=key)[0] == 401


def test_second_service_on_the_folder_is_refused_with_a_reason(deployment):
    second = subprocess.run(
        [sys.executable, "-m", "hosts.cli", "serve", "--config", str(deployment.config), "--api", "127.0.0.1:0"],
        capture_output=True, text=True, check=False, timeout=GUARD_SECONDS,
    )  # fmt: skip
    assert second.returncode == 2
    assert "Another process already serves" in second.stderr
    assert "Traceback" not in second.stderr


def test_acknowledged_events_survive_a_kill(tmp_path):
    alive = initialize_deployment(tmp_path / "data")
    with start_service(alive) as process:
        sent = [alive.track(event="page_view", anonymous_id=f"a{n}", event_id=f"e{n}") for n in range(50)]
        process.kill()
    assert all(answer["success"] for _, answer in sent)
    log = tmp_path / "serve.log"
    with log.open("w") as errors, start_service(alive, stderr=errors):
        wait_until(lambda: alive.get("/v1/overview", **RECENT)[1]["pageviews_total"] == len(sent))
        assert alive.track(event="page_view", anonymous_id="a1", event_id="e1")[1]["success"] is False
    assert log.read_text() == ""  # nor does one that is told to end complain of anything


@contextmanager
def start_service(deployment, **options):
    command = [sys.executable, "-m", "hosts.cli", "serve", "--config", str(deployment.config)]
    command += ["--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0"]
    with running_process(command, stdout=subprocess.PIPE, **options) as process:
        deployment.running = RunningService(**read_output_pairs(process, 2), pid=process.pid)
        yield process
