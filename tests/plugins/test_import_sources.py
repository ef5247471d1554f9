"""The conformance kit on every built-in import source, on files written from the vendors' public formats."""

import json

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.import_source import ImportSourceConformance, ImportSourceHarness

SOURCES = collect_plugins_into_registry(with_catalog=False).import_sources


def ndjson(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def ga4_row(name, micros, user="ga.1", **more):
    parameters = [
        {
            "key": "page_location",
            "value": {"string_value": "https://shop.example/a?utm_source=news", "int_value": None},
        },
        {"key": "ga_session_id", "value": {"int_value": "1782900000"}},
    ]
    return {
        "event_date": "20260701", "event_timestamp": str(micros), "event_name": name, "event_params": parameters,
        "user_pseudo_id": user, "device": {"operating_system": "iOS", "language": "en-us"}, **more,
    }  # fmt: skip


JULY_1 = 1_782_907_200  # 2026-07-01T12:00:00Z
GA4 = ndjson(
    ga4_row("page_view", JULY_1 * 1_000_000),
    ga4_row(
        "purchase", (JULY_1 + 60) * 1_000_000, ecommerce={"purchase_revenue": 12.5, "transaction_id": "T1"}
    ),
    ga4_row("page_view", (JULY_1 + 86_400) * 1_000_000, user=None),
)
POSTHOG = ndjson(
    {
        "uuid": "0190-1", "event": "$pageview", "distinct_id": "u1", "timestamp": "2026-07-01T10:00:00.000Z",
        "properties": json.dumps({"$current_url": "https://shop.example/", "$device_id": "d1", "plan": "pro"}),
    },
    {"uuid": "0190-2", "event": "signed up", "distinct_id": "u1", "timestamp": "2026-07-02T10:00:00.000Z", "properties": {}},
    {"uuid": "0190-3", "event": "lost", "timestamp": "2026-07-02T11:00:00.000Z", "properties": {}},
)  # fmt: skip
MIXPANEL = ndjson(
    {
        "event": "$mp_web_page_view",
        "properties": {"time": JULY_1, "distinct_id": "$device:d1", "$insert_id": "i1"},
    },
    {"event": "Sign up", "properties": {"time": JULY_1 + 86_400, "distinct_id": "u1", "$insert_id": "i2"}},
    {"event": "", "properties": {"time": JULY_1, "distinct_id": "u1", "$insert_id": "i3"}},
)
PLAUSIBLE = (
    b"date,visitors,pageviews,bounces,visits,visit_duration\n"
    b"2026-07-01,12,30,4,15,900\n2026-07-02,9,20,3,10,500\n"
)
UMAMI_COLUMNS = (
    *("event_id", "website_id", "session_id", "visit_id", "created_at", "url_path", "url_query"),
    *("referrer_domain", "page_title", "event_type", "event_name", "hostname"),
)
UMAMI_ROWS = (
    (
        "e1",
        "w",
        "s1",
        "v1",
        "2026-07-01 10:00:00+00",
        "/a",
        "utm_source=news",
        "google.com",
        "A",
        "1",
        "",
        "shop.example",
    ),
    ("e2", "w", "s1", "v1", "2026-07-02 10:00:00.5+00", "/a", "", "", "A", "2", "signup", "shop.example"),
)
UMAMI_CSV = "\n".join(",".join(row) for row in (UMAMI_COLUMNS, *UMAMI_ROWS)).encode() + b"\n"
UMAMI_DUMP = (
    "-- PostgreSQL database dump\n\nCOPY public.session (session_id, browser) FROM stdin;\ns1\tfirefox\n\\.\n\n"
    f"COPY public.website_event ({', '.join(UMAMI_COLUMNS)}) FROM stdin;\n"
    + "".join("\t".join(cell or "\\N" for cell in row) + "\n" for row in UMAMI_ROWS)
).encode()


def first_line(content):
    return content.splitlines(keepends=True)[0]


def last_line(content):
    return content.splitlines(keepends=True)[-1]


HARNESSES = {
    "ga4": (GA4, {"2026-07-01": {"queued": 2}, "2026-07-02": {"no_identity": 1}}, first_line(GA4)),
    "posthog": (
        POSTHOG,
        {"2026-07-01": {"queued": 1}, "2026-07-02": {"queued": 1, "no_identity": 1}},
        first_line(POSTHOG),
    ),
    "mixpanel": (
        MIXPANEL,
        {"2026-07-01": {"queued": 1, "no_event_name": 1}, "2026-07-02": {"queued": 1}},
        first_line(MIXPANEL),
    ),
    "plausible": (
        PLAUSIBLE,
        {"2026-07-01": {"daily_total": 1}, "2026-07-02": {"daily_total": 1}},
        last_line(PLAUSIBLE),
    ),
    "umami": (UMAMI_CSV, {"2026-07-01": {"queued": 1}, "2026-07-02": {"queued": 1}}, last_line(UMAMI_CSV)),
}
DUMP_DAYS = {"": {"other_table": 1}, "2026-07-01": {"queued": 1}, "2026-07-02": {"queued": 1}}


class TestBuiltInSources(ImportSourceConformance):
    @pytest.fixture(params=[*sorted(HARNESSES), "umami dump"])
    def harness(self, request):
        if request.param == "umami dump":
            return ImportSourceHarness(
                SOURCES["umami"], UMAMI_DUMP + b"\\.\n", DUMP_DAYS, last_line(UMAMI_DUMP), b"\\.\n"
            )
        content, days, row = HARNESSES[request.param]
        return ImportSourceHarness(SOURCES[request.param], content, days, row)


def test_every_built_in_source_has_a_recorded_file():
    assert HARNESSES.keys() == SOURCES.keys()
