"""The rows of an export are those of its read endpoint, row for row, column for column."""

import json
from decimal import Decimal
from random import Random
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.delivery.exports.export_rows import CHANNEL_COLUMNS, EVENT_COLUMNS, USER_COLUMNS
from service_core.delivery.exports.table import CellFormat
from service_core.testing.event_builder import campaign_columns, utc_instant
from service_core.testing.random_datasets import TIMEZONES_AND_STARTS, RandomDataset, add_random_events
from tests.analytics.dataset_client import generated_examples

RANGE = "start_date=2026-07-01&end_date=2026-07-07"
HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\rx",
    'a"b,c\r\nd',
    ",=1",
    '"=1',
    "'",
    "",
    " ",
    "ü\u2028",
    "a\rb",
]


async def read_all_pages(api_client, path, name, *, key="shop", size=37):
    """Every row of a paged endpoint."""
    rows = []
    while True:
        page = (await api_client.ask("GET", f"/v1/{path}&limit={size}&offset={len(rows)}", key=key)).json
        rows += page[name]
        if not page["has_more"]:
            return rows


def format_csv_value(column, value):
    """A value of the endpoint as a cell of CSV says it."""
    if value is None:
        return ""
    if column.format is CellFormat.TEXT:
        return "'" + value if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
    return {True: "true", False: "false"}[value] if column.format is CellFormat.FLAG else value


def cell_equals(column, cell, value):
    """Whether a cell of CSV says a value of the endpoint."""
    if value is not None and column.format is CellFormat.JSON:
        return json.loads(cell) == value
    if value is not None and column.format in {CellFormat.MONEY, CellFormat.DECIMAL, CellFormat.INTEGER}:
        return "e" not in cell.lower() and float(Decimal(cell)) == value
    return cell == format_csv_value(column, value)


async def export_and_endpoint_rows(api_client, size=120):
    """A crowded history in the week that is asked for, and a few rows that a file could trip over."""
    story = api_client.story()
    add_random_events(RandomDataset(story, "America/New_York", utc_instant("2026-06-29")), Random(11), size)
    for number, text in enumerate(HOSTILE):
        story.add_event(
            "page_view",
            at=f"2026-07-03T10:00:{number:02}.9996",
            visitor=text or "blank",
            page_title=text,
            event_data={"text": text, "n": 1.10, "deep": {"of": [1, None]}},
            **campaign_columns(text or "x", "cpc", text),
        )
    for currency, amount in (("JPY", 1234), ("KWD", 1), ("USD", -5), ("CLF", 7)):
        story.add_event("order_paid", at="2026-07-04", visitor="B", revenue=amount, currency=currency)
    await api_client.keep(story)
    return story


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"event_name": "page_view,signup", "include_bots": True},
        {"property_filters": [{"key": "n", "op": "gt", "value": 1}]},
    ],
)
async def test_event_export_equals_the_events_endpoint(api_client, filters):
    await export_and_endpoint_rows(api_client)
    query = "&".join(f"{k}={v if isinstance(v, str) else json.dumps(v)}" for k, v in filters.items())
    expected = await read_all_pages(api_client, f"events?{RANGE}&{query}", "events")
    assert len(expected) > 10
    assert await api_client.rows(filters=filters) == expected
    cells = await api_client.rows(form="csv", filters=filters)
    assert [list(row) for row in cells] == [list(row) for row in expected]
    assert_rows_equal(EVENT_COLUMNS, cells, expected)


@pytest.mark.parametrize("filters", [{}, {"identified": True, "search": "u"}, {"utm_source": "x"}])
async def test_user_export_equals_the_users_endpoint(api_client, filters):
    await export_and_endpoint_rows(api_client)
    query = "&".join(f"{k}={json.dumps(v).strip(chr(34))}" for k, v in filters.items())
    expected = await read_all_pages(api_client, f"users?{RANGE}&{query}", "users")
    assert expected
    assert await api_client.rows("users", filters=filters) == expected
    assert_rows_equal(USER_COLUMNS, await api_client.rows("users", "csv", filters=filters), expected)


@pytest.mark.parametrize("filters", [{}, {"model": "linear", "window_days": 7, "refund_basis": "order"}])
async def test_attribution_export_is_the_channel_summary_with_unattributed(api_client, filters):
    await export_and_endpoint_rows(api_client)
    query = "&".join(f"{k}={v}" for k, v in filters.items())
    report = (await api_client.ask("GET", f"/v1/attribution?{RANGE}&{query}")).json
    rest = dict.fromkeys(column.name for column in CHANNEL_COLUMNS) | report["unattributed"]
    expected = [*report["channels"], rest | {"channel": "unattributed"}]
    assert len(expected) > 2
    assert await api_client.rows("attribution", filters=filters) == expected
    cells = await api_client.rows("attribution", "csv", filters=filters)
    assert_rows_equal(CHANNEL_COLUMNS, cells, expected)
    assert (cells[-1]["channel"], cells[-1]["visitors"], cells[-1]["conversion_rate"]) == (
        "unattributed",
        "",
        "",
    )


def assert_rows_equal(columns, cells, expected):
    assert len(cells) == len(expected)
    wrong = [
        (column.name, cell[column.name], row[column.name])
        for cell, row in zip(cells, expected, strict=True)
        for column in columns
        if not cell_equals(column, cell[column.name], row[column.name])
    ]
    assert wrong == []


@generated_examples
@given(
    seed=st.integers(0, 2**32 - 1),
    size=st.integers(0, 60),
    kind=st.sampled_from(["events", "users"]),
    filters=st.fixed_dictionaries(
        {}, optional={"country": st.sampled_from(["DE", "fr"]), "include_bots": st.booleans()}
    ),
)
async def test_exports_of_generated_datasets_equal_the_endpoints(api_client, seed, size, kind, filters):
    random = Random(seed)
    zone, first = random.choice(TIMEZONES_AND_STARTS)
    await api_client.found("somewhere", timezone=zone)
    world = RandomDataset(api_client.story("somewhere"), zone, utc_instant(first))
    add_random_events(world, random, size)
    await api_client.keep(world.builder)
    dates = {"start_date": world.span.start.isoformat(), "end_date": world.span.end.isoformat()}
    request = urlencode(dates | {name: json.dumps(value).strip('"') for name, value in filters.items()})
    expected = await read_all_pages(api_client, f"{kind}?{request}", kind, key="somewhere", size=23)
    ordered = {"key": "somewhere", "filters": filters, **dates}
    assert await api_client.rows(kind, **ordered) == expected
    columns = {"events": EVENT_COLUMNS, "users": USER_COLUMNS}[kind]
    assert_rows_equal(columns, await api_client.rows(kind, "csv", **ordered), expected)


async def test_export_contains_no_rows_of_other_workspaces(api_client):
    story = api_client.story("other")
    story.add_event("secret", at="2026-07-03", visitor="A1")
    await api_client.keep(story)
    assert await api_client.rows() == await api_client.rows("users") == []


async def test_csv_is_crlf_with_a_header_and_without_a_byte_order_mark(api_client):
    await export_and_endpoint_rows(api_client, 3)
    job = await api_client.export(format="csv")
    content = (await api_client.ask("GET", job["download"]["url"], key=None)).body
    assert content.startswith(b"event_id,event_name,timestamp,received_at,time_adjusted,")
    assert content.split(b"\r\n")[0].endswith(b",is_test,event_data")
    assert content.endswith(b"\r\n")


async def test_order_that_page_and_server_report_is_exported_as_one_order(api_client):
    story = api_client.story()
    story.add_event(
        "page_view", at="2026-07-03T10:00", visitor="A1", strong_id="u1", **campaign_columns("google", "cpc")
    )
    for source, minute in (("browser", 5), ("api", 6)):
        story.add_event(
            "purchase", at=f"2026-07-03T10:{minute:02}", visitor="A1", strong_id="u1",
            revenue=2000, order_id="o1", source=source,
        )  # fmt: skip
    await api_client.keep(story)
    (person,) = await api_client.rows("users")
    assert (person["conversions"], person["revenue"]) == (1, 20.0)
    channels = {
        row["channel"]: (row["conversions"], row["revenue"]) for row in await api_client.rows("attribution")
    }
    assert sum(conversions for conversions, _ in channels.values()) == 1
    assert sum(revenue for _, revenue in channels.values()) == 20.0
    assert [row["event_name"] for row in await api_client.rows("events")] == [
        "purchase",
        "purchase",
        "page_view",
    ]


async def test_empty_range_is_a_valid_file(api_client):
    assert await api_client.rows() == []
    assert await api_client.rows(form="csv") == []
    (row,) = await api_client.rows("attribution")
    assert (row["channel"], row["conversions"], row["visitors"]) == ("unattributed", 0, None)
