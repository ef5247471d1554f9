"""An access log as page views: what counts, what is left out, and why."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from hosts import demo
from service_core.ingestion.access_log import (
    BROWSER_USER_AGENT,
    AccessLogParser,
    LineSkipReason,
    LoggedPageView,
)
from service_core.ingestion.enrichment import Enricher
from service_core.ingestion.traffic_classification import TrafficClassifier
from service_core.ingestion.validation import ValidatedEvent, validate_name_and_identity
from service_core.testing.ingestion_stubs import (
    NOON,
    StubDevices,
    StubPublicSuffixes,
    make_queued_event,
    make_workspace,
    parse_and_enrich_body,
)

LOG = Path(demo.__file__).with_name("access_log.gz")
LINE = '203.0.113.7 - - [17/May/2026:10:05:03 +0200] "{request}" {status} 2326 "{referrer}" "{agent}"'


def log_line(request="GET /a?b=1 HTTP/1.1", status=200, referrer="-", agent="Mozilla/5.0 Firefox/140.0"):
    return LINE.format(request=request, status=status, referrer=referrer, agent=agent)


def parse_lines(*lines):
    log = AccessLogParser("https://example.com/")
    return [log.parse_line(text) for text in lines]


def test_page_view_contains_every_field_of_the_line():
    (page,) = parse_lines(
        log_line("GET /a?utm_source=x&gclid=1&q=2 HTTP/1.1", referrer="https://partner.net/")
    )
    assert page.body["event"] == "pageview"
    assert page.body["timestamp"] == "2026-05-17T08:05:03+00:00"
    assert page.body["properties"] == {
        "utm_source": "x",
        "gclid": "1",
        "url": "https://example.com/a?utm_source=x&gclid=1&q=2",
        "referrer": "https://partner.net/",
    }
    assert page.body["context"]["userAgent"] == "Mozilla/5.0 Firefox/140.0"
    assert page.client_ip == "203.0.113.7"


def test_page_view_is_accepted_and_becomes_the_row_of_a_browser():
    (page,) = parse_lines(log_line(agent="SomeBot/1.0"))
    assert validate_name_and_identity(page.body) == ValidatedEvent("pageview", page.event_id)
    enricher = Enricher(StubDevices(), None, TrafficClassifier(StubPublicSuffixes()))
    arrival = make_queued_event(
        event_id=page.event_id, user_agent=page.user_agent, address=page.client_ip, received_at=NOON
    )
    event = parse_and_enrich_body(enricher, arrival, page.body, workspace=make_workspace())
    assert (event.source, event.ip, event.page_path, event.bot_reasons) == (
        "browser",
        "203.0.113.7",
        "/a",
        ("known_agent",),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", LineSkipReason.MALFORMED),
        ("some text", LineSkipReason.MALFORMED),
        (log_line("-"), LineSkipReason.MALFORMED),
        (log_line().replace("17/May", "37/May"), LineSkipReason.MALFORMED),
        (log_line().replace("May", "Mai"), LineSkipReason.MALFORMED),
        (log_line("POST /a HTTP/1.1"), LineSkipReason.METHOD),
        (log_line("HEAD /a HTTP/1.1"), LineSkipReason.METHOD),
        (log_line(status=404), LineSkipReason.ERROR),
        (log_line(status=500), LineSkipReason.ERROR),
        (log_line("GET /feed HTTP/1.1"), LineSkipReason.FEED),
        (log_line("GET /blog/index.rss HTTP/1.1"), LineSkipReason.FEED),
        (log_line("GET /sitemap.xml HTTP/1.1"), LineSkipReason.FEED),
        (log_line("GET /style.css?v=2 HTTP/1.1"), LineSkipReason.ASSET),
        (log_line("GET /robots.txt HTTP/1.1"), LineSkipReason.ASSET),
        (log_line("GET /a/b.PNG HTTP/1.1"), LineSkipReason.ASSET),
    ],
)
def test_skipped_line_has_a_reason(text, reason):
    assert parse_lines(text) == [reason]


@pytest.mark.parametrize("path", ["/", "/index.html", "/a.php?x=1", "/v1.2/notes", "/feedback", "/a.b/c"])
@pytest.mark.parametrize("status", [200, 301, 304])
def test_page_requests_become_page_views(path, status):
    assert isinstance(parse_lines(log_line(f"GET {path} HTTP/1.1", status))[0], LoggedPageView)


def test_escaped_quote_stays_inside_its_field():
    (page,) = parse_lines(log_line(agent=r"Mozilla/5.0 \"quoted\" x"))
    assert page.body["context"]["userAgent"] == r"Mozilla/5.0 \"quoted\" x"


def test_common_format_without_referrer_and_agent_is_read_too():
    (page,) = parse_lines('203.0.113.7 - frank [17/May/2026:10:05:03 +0000] "GET / HTTP/1.0" 200 5')
    assert (page.user_agent, "userAgent" in page.body["context"]) == (BROWSER_USER_AGENT, False)


def test_same_log_gives_the_same_ids_and_repeated_requests_are_different_events():
    first, second = parse_lines(log_line(), log_line()), parse_lines(log_line(), log_line())
    assert [page.event_id for page in first] == [page.event_id for page in second]
    assert first[0].event_id != first[1].event_id


def test_one_agent_at_one_address_is_one_visitor():
    one, two, other = parse_lines(
        log_line("GET /a HTTP/1.1"), log_line("GET /b HTTP/1.1"), log_line(agent="Other")
    )
    assert one.body["anonymous_id"] == two.body["anonymous_id"] != other.body["anonymous_id"]


def test_real_log_is_counted_line_by_line():
    with gzip.open(LOG, "rt", errors="replace") as lines:
        outcomes = parse_lines(*(line.rstrip("\n") for line in lines))
    counts = Counter("page" if isinstance(found, LoggedPageView) else found.value for found in outcomes)
    # grep, told the same rules, counts the same.
    assert counts == {"asset": 1675, "error": 37, "page": 1294, "feed": 11, "method": 6}
