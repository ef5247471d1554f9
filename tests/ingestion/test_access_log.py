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
from service_core.ingestion.validation import ValidatedEvent, validate_event
from service_core.testing.ingestion_stubs import (
    NOON,
    StubDevices,
    StubPublicSuffixes,
    enrich_body,
    make_queued_event,
    make_workspace,
)

LOG = Path(demo.__file__).with_name("access_log.gz")
LINE = '203.0.113.7 - - [17/May/2026:10:05:03 +0200] "{request}" {status} 2326 "{referrer}" "{agent}"'


def line(request="GET /a?b=1 HTTP/1.1", status=200, referrer="-", agent="Mozilla/5.0 Firefox/140.0"):
    return LINE.format(request=request, status=status, referrer=referrer, agent=agent)


def read(*lines):
    log = AccessLogParser("https://example.com/")
    return [log.parse_line(text) for text in lines]


def test_a_page_view_has_everything_the_line_knows():
    (page,) = read(line("GET /a?utm_source=x&gclid=1&q=2 HTTP/1.1", referrer="https://partner.net/"))
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


def test_a_page_view_is_accepted_and_becomes_the_row_of_a_browser():
    (page,) = read(line(agent="SomeBot/1.0"))
    assert validate_event(page.body) == ValidatedEvent("pageview", page.event_id)
    enricher = Enricher(StubDevices(), None, TrafficClassifier(StubPublicSuffixes()))
    arrival = make_queued_event(
        event_id=page.event_id, user_agent=page.user_agent, address=page.client_ip, received_at=NOON
    )
    event = enrich_body(enricher, arrival, page.body, workspace=make_workspace())
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
        (line("-"), LineSkipReason.MALFORMED),
        (line().replace("17/May", "37/May"), LineSkipReason.MALFORMED),
        (line().replace("May", "Mai"), LineSkipReason.MALFORMED),
        (line("POST /a HTTP/1.1"), LineSkipReason.METHOD),
        (line("HEAD /a HTTP/1.1"), LineSkipReason.METHOD),
        (line(status=404), LineSkipReason.ERROR),
        (line(status=500), LineSkipReason.ERROR),
        (line("GET /feed HTTP/1.1"), LineSkipReason.FEED),
        (line("GET /blog/index.rss HTTP/1.1"), LineSkipReason.FEED),
        (line("GET /sitemap.xml HTTP/1.1"), LineSkipReason.FEED),
        (line("GET /style.css?v=2 HTTP/1.1"), LineSkipReason.ASSET),
        (line("GET /robots.txt HTTP/1.1"), LineSkipReason.ASSET),
        (line("GET /a/b.PNG HTTP/1.1"), LineSkipReason.ASSET),
    ],
)
def test_what_is_no_page_view_says_why(text, reason):
    assert read(text) == [reason]


@pytest.mark.parametrize("path", ["/", "/index.html", "/a.php?x=1", "/v1.2/notes", "/feedback", "/a.b/c"])
@pytest.mark.parametrize("status", [200, 301, 304])
def test_pages_count(path, status):
    assert isinstance(read(line(f"GET {path} HTTP/1.1", status))[0], LoggedPageView)


def test_an_escaped_quote_stays_inside_its_field():
    (page,) = read(line(agent=r"Mozilla/5.0 \"quoted\" x"))
    assert page.body["context"]["userAgent"] == r"Mozilla/5.0 \"quoted\" x"


def test_the_common_format_without_referrer_and_agent_is_read_too():
    (page,) = read('203.0.113.7 - frank [17/May/2026:10:05:03 +0000] "GET / HTTP/1.0" 200 5')
    assert (page.user_agent, "userAgent" in page.body["context"]) == (BROWSER_USER_AGENT, False)


def test_the_same_log_gives_the_same_ids_and_repeated_requests_are_different_events():
    first, second = read(line(), line()), read(line(), line())
    assert [page.event_id for page in first] == [page.event_id for page in second]
    assert first[0].event_id != first[1].event_id


def test_one_agent_at_one_address_is_one_visitor():
    one, two, other = read(line("GET /a HTTP/1.1"), line("GET /b HTTP/1.1"), line(agent="Other"))
    assert one.body["anonymous_id"] == two.body["anonymous_id"] != other.body["anonymous_id"]


def test_a_real_log_is_counted_line_by_line():
    with gzip.open(LOG, "rt", errors="replace") as lines:
        outcomes = read(*(line.rstrip("\n") for line in lines))
    counts = Counter("page" if isinstance(found, LoggedPageView) else found.value for found in outcomes)
    # grep, told the same rules, counts the same.
    assert counts == {"asset": 1675, "error": 37, "page": 1294, "feed": 11, "method": 6}
