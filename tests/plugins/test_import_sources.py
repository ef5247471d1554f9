"""The conformance kit on every built-in import source, on files written from the vendors' public formats."""

import gzip
import json

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.import_sources.files import ImportFile
from service_core.kernel.errors import StartupError
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

MATOMO = (
    b'203.0.113.7 - - [01/Jul/2026:10:00:00 +0000] "GET /matomo.php?idsite=1&rec=1&_id=a1b2c3d4e5f60718&url=https%3A%2F%2F'
    b'shop.example%2F HTTP/1.1" 200 43 "-" "Mozilla/5.0 Firefox/140.0"\n'
    b'203.0.113.7 - - [02/Jul/2026:10:00:00 +0000] "GET /index.php HTTP/1.1" 200 10 "-" "Mozilla/5.0 Firefox/140.0"\n'
)
STRIPE = ndjson(
    {
        "object": "charge", "id": "ch_1", "payment_intent": "pi_1", "status": "succeeded", "paid": True, "created": JULY_1,
        "amount": 1250, "amount_refunded": 250, "currency": "usd", "customer": "cus_1", "livemode": True,
        "refunds": {"data": [{"created": JULY_1 + 3600}]},
    },
    {"object": "charge", "id": "ch_2", "status": "failed", "created": JULY_1, "amount": 100, "currency": "usd"},
    {"object": "product", "id": "prod_1", "created": JULY_1 + 86_400},
)  # fmt: skip
STRIPE_CSV = (
    b"id,Created date (UTC),Amount,Amount Refunded,Currency,Status,Customer ID,Customer Email\n"
    b"ch_1,2026-07-01 12:00:00,12.50,0.00,usd,Paid,cus_1,ada@example.com\n"
    b"ch_2,2026-07-02 12:00:00,5.00,0.00,usd,Failed,cus_1,ada@example.com\n"
)
SHOPIFY = ndjson(
    {
        "id": 1001, "name": "#1", "financial_status": "partially_refunded", "processed_at": "2026-07-01T10:00:00+02:00",
        "updated_at": "2026-08-01T10:00:00Z", "currency": "EUR", "subtotal_price": "20.00", "total_tax": "3.19",
        "total_discounts": "0.00", "taxes_included": True, "email": "ada@example.com",
        "refunds": [{
            "id": 7, "order_id": 1001, "created_at": "2026-07-05T10:00:00Z",
            "transactions": [{"kind": "refund", "status": "success", "amount": "5.00", "currency": "EUR"}],
        }],
    },
    {"id": 1002, "financial_status": "pending", "created_at": "2026-07-02T10:00:00Z"},
)  # fmt: skip
SHOPIFY_CSV = (
    b"Name,Email,Financial Status,Paid at,Currency,Subtotal,Shipping,Taxes,Refunded Amount,Created at,Id\n"
    b"#1,ada@example.com,paid,2026-07-01 10:00:00 +0200,EUR,20.00,4.90,3.19,0.00,2026-07-01 10:00:00 +0200,1001\n"
    b"#1,,,,,,,,,2026-07-01 10:00:00 +0200,\n"
)


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
    "matomo": (
        MATOMO,
        {"2026-07-01": {"queued": 1}, "2026-07-02": {"no_tracking_request": 1}},
        first_line(MATOMO),
    ),
    "shopify": (SHOPIFY, {"2026-07-01": {"queued": 1}, "2026-07-02": {"not_paid": 1}}, first_line(SHOPIFY)),
    "stripe": (
        STRIPE,
        {"2026-07-01": {"queued": 1, "not_paid": 1}, "2026-07-02": {"other_object": 1}},
        first_line(STRIPE),
    ),
    "umami": (UMAMI_CSV, {"2026-07-01": {"queued": 1}, "2026-07-02": {"queued": 1}}, last_line(UMAMI_CSV)),
}
OTHER_FILES = {
    "shopify csv": ("shopify", SHOPIFY_CSV, {"2026-07-01": {"queued": 1, "further_item": 1}}),
    "stripe csv": ("stripe", STRIPE_CSV, {"2026-07-01": {"queued": 1}, "2026-07-02": {"not_paid": 1}}),
}
DUMP_DAYS = {"": {"other_table": 1}, "2026-07-01": {"queued": 1}, "2026-07-02": {"queued": 1}}


class TestBuiltInSources(ImportSourceConformance):
    @pytest.fixture(params=[*sorted(HARNESSES), *sorted(OTHER_FILES), "umami dump"])
    def harness(self, request):
        if request.param == "umami dump":
            return ImportSourceHarness(
                SOURCES["umami"], UMAMI_DUMP + b"\\.\n", DUMP_DAYS, last_line(UMAMI_DUMP), b"\\.\n"
            )
        if request.param in OTHER_FILES:
            source, content, days = OTHER_FILES[request.param]
            return ImportSourceHarness(SOURCES[source], content, days, last_line(content))
        content, days, row = HARNESSES[request.param]
        return ImportSourceHarness(SOURCES[request.param], content, days, row)


def test_every_built_in_source_has_a_recorded_file():
    assert HARNESSES.keys() == SOURCES.keys()


def read(source, content, folder):
    file = folder / "file"
    file.write_bytes(content)
    return list(SOURCES[source].read_entries(ImportFile(file)))


def test_charge_of_stripe_is_a_purchase_and_its_refund_in_one_row(tmp_path):
    entry = read("stripe", STRIPE, tmp_path)[0]
    (refund,) = entry.further_bodies
    assert (entry.body["event"], entry.body["properties"]["revenue"]) == ("purchase", "12.50")
    assert (refund["event"], refund["properties"]["order_id"]) == (
        "refund",
        entry.body["properties"]["order_id"],
    )
    assert refund["timestamp"] == "2026-07-01T13:00:00+00:00"
    assert entry.headers == {"provider": "stripe"}


def test_order_of_shopify_is_dated_to_its_payment_and_its_refunds_to_theirs(tmp_path):
    entry = read("shopify", SHOPIFY, tmp_path)[0]
    assert entry.body["timestamp"] == "2026-07-01T08:00:00+00:00"
    assert [body["timestamp"] for body in entry.further_bodies] == ["2026-07-05T10:00:00+00:00"]


@pytest.mark.parametrize(
    ("processed", "created", "paid_at"),
    [
        ("2026-07-02", "2026-07-01", "2026-07-02"),
        ("2026-07-02", None, "2026-07-02"),
        (None, "2026-07-01", "2026-07-01"),
    ],
)
def test_order_of_shopify_is_dated_to_its_processing_else_to_its_creation(
    processed, created, paid_at, tmp_path
):
    times = {"processed_at": processed, "created_at": created}
    order = json.loads(first_line(SHOPIFY)) | {key: day and f"{day}T10:00:00Z" for key, day in times.items()}
    entry = read("shopify", ndjson(order), tmp_path)[0]
    assert entry.body["timestamp"] == f"{paid_at}T10:00:00+00:00"


def test_replayed_request_of_matomo_has_the_visitor_of_the_log(tmp_path):
    entry = read("matomo", MATOMO, tmp_path)[0]
    assert (entry.address, entry.body["anonymous_id"]) == ("203.0.113.7", "a1b2c3d4e5f60718")
    assert entry.body["timestamp"] == "2026-07-01T10:00:00+00:00"


def test_row_of_ga4_has_session_campaign_and_money(tmp_path):
    _, purchase, _ = read("ga4", GA4, tmp_path)
    properties = purchase.body["properties"]
    assert (properties["value"], properties["transaction_id"], properties["utm_source"]) == (
        12.5,
        "T1",
        "news",
    )
    assert (purchase.body["context"]["session_id"], purchase.body["context"]["os"]) == ("1782900000", "iOS")


def test_row_of_umami_has_visit_page_and_campaign(tmp_path):
    view, signup = read("umami", UMAMI_CSV, tmp_path)
    assert view.body["properties"]["url"] == "https://shop.example/a?utm_source=news"
    assert (view.body["context"]["session_id"], view.body["timestamp"]) == ("v1", "2026-07-01 10:00:00+00:00")
    assert (signup.body["event"], signup.body["event_id"]) == ("signup", "e2")


def test_progress_of_a_packed_file_counts_packed_bytes(tmp_path):
    packed = gzip.compress(POSTHOG * 1_000)
    assert sum(entry.byte_count for entry in read("posthog", packed, tmp_path)) <= len(packed)
    assert sum(entry.byte_count for entry in read("posthog", POSTHOG, tmp_path)) == len(POSTHOG)


def test_packed_file_that_is_cut_off_is_refused_with_a_sentence(tmp_path):
    with pytest.raises(StartupError, match="damaged or cut off"):
        read("posthog", gzip.compress(POSTHOG)[:-20], tmp_path)


def test_partly_refunded_payment_of_a_csv_file_is_a_purchase_and_a_refund(tmp_path):
    (entry, _) = read("stripe", STRIPE_CSV.replace(b"0.00,usd,Paid", b"2.50,usd,Partial Refund"), tmp_path)
    assert (entry.body["event"], entry.further_bodies[0]["event"]) == ("purchase", "refund")
