"""Charts as values: scales that hold everything, lines that claim nothing, numbers people can read."""

import math
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.composition.compose import load_installed_registry_once
from hosts.web.cards.card import DisplayContext
from hosts.web.cards.json_values import build_display_context_for
from hosts.web.cards.queries import build_query_card_by_columns
from hosts.web.cards.reports import build_report_card_by_answer_fields
from hosts.web.cards.tiles import describe_change
from hosts.web.charts.number_format import ValueFormat
from hosts.web.charts.plot import build_plot
from hosts.web.charts.plot_model import Bucket, Series
from hosts.web.charts.polyline import straight_svg_path
from hosts.web.charts.proportion_charts import (
    build_bars_relative_to_longest,
    build_gauge,
    build_ring_of_first_six_parts,
)
from hosts.web.charts.scale import build_scale_including_zero
from hosts.web.charts.time_labels import build_labelled_bucket, detect_bucket_size, format_inclusive_range

VALUES = st.floats(-1e12, 1e12, allow_nan=False).map(lambda value: round(value, 3))
BERLIN = ZoneInfo("Europe/Berlin")


@given(st.lists(VALUES, max_size=20), st.booleans())
def test_scale_covers_zero_and_every_value_with_few_round_ticks(values, whole):
    scale = build_scale_including_zero(values, whole_ticks_only=whole)
    assert 2 <= len(scale.ticks) <= 7
    for value in (*values, 0):
        assert -0.01 <= scale.y(value) <= 100.01
    steps = {round(b - a, 6) for a, b in zip(scale.ticks, scale.ticks[1:], strict=False)}
    assert max(steps) - min(steps) <= max(abs(tick) for tick in scale.ticks) * 1e-9
    if whole:
        assert all(tick == int(tick) for tick in scale.ticks)


@given(st.lists(st.floats(0, 100), min_size=2, max_size=30))
def test_line_leads_straight_from_each_point_to_the_next(heights):
    points = [(float(index), round(height, 2)) for index, height in enumerate(heights)]
    path = straight_svg_path(points)
    assert re.fullmatch(r"M[^ML]+(L[^ML]+)+", path)
    drawn = [tuple(map(float, step.split())) for step in re.split("[ML]", path)[1:]]
    assert drawn == [pytest.approx(point, rel=1e-4) for point in points]


@given(st.lists(st.none() | VALUES, min_size=1, max_size=40), st.sampled_from(["line", "area", "bar"]))
def test_every_measured_value_is_drawn_once(values, style):
    buckets = [Bucket(str(index), str(index)) for index in range(len(values))]
    drawn = build_plot("x", buckets, [Series("a", tuple(values))], unit=ValueFormat(), style=style)
    known = [value for value in values if value is not None]
    if style == "bar":
        assert len(drawn.bars) == sum(value != 0 for value in known)
    else:
        (trace,) = drawn.traces
        joined = trace.line.count("L") + trace.line.count("M")
        assert joined + len(trace.dots) == len(known)
    assert sum(len(stop.dots) for stop in drawn.stops) == len(known)
    assert "nan" not in repr(drawn)


def test_segment_to_the_current_bucket_is_drawn_separately():
    buckets = [Bucket("a", "a"), Bucket("b", "b"), Bucket("c", "c", partial=True)]
    (trace,) = build_plot("x", buckets, [Series("a", (1, 2, 3))], unit=ValueFormat(), style="line").traces
    assert (trace.line.count("L"), trace.tail.count("L")) == (1, 1)
    bars = build_plot("x", buckets, [Series("a", (1, 2, 3))], unit=ValueFormat(), style="bar").bars
    assert [bar.partial for bar in bars] == [False, False, True]


def test_comparison_is_a_dashed_whole_line_that_names_its_own_days():
    buckets = [Bucket("a", "A"), Bucket("b", "B", partial=True)]
    compared = Series("before", (4, None), titles=("Y", "Z"))
    drawn = build_plot("x", buckets, [Series("now", (1, 2)), compared], unit=ValueFormat(), style="area")
    assert [(trace.compared, bool(trace.area), bool(trace.tail)) for trace in drawn.traces] == [
        (False, True, True),
        (True, False, False),
    ]
    assert drawn.stops[1].title == "B (so far)"
    assert drawn.stops[1].values == ((1, "now", "2"), (2, "Z", "—"))


@pytest.mark.parametrize("count", [1, 2, 6, 7, 30, 31, 90, 365])
def test_axis_labels_the_first_and_the_last_bucket(count):
    buckets = [Bucket(str(index), str(index)) for index in range(count)]
    marks = build_plot("x", buckets, [Series("a", (1,) * count)], unit=ValueFormat(), style="line").marks
    assert [marks[0].text, marks[-1].text] == ["0", str(count - 1)]
    assert len(marks) <= 7
    gaps = [after.x - before.x for before, after in pairwise(marks)]
    assert not marks[-1].minor
    assert min(gaps, default=100) > 6


@pytest.mark.parametrize(
    ("unit", "value", "full", "brief"),
    [
        (ValueFormat(), 12480, "12,480", "12.5k"),
        (ValueFormat(), 0, "0", "0"),
        (ValueFormat("number"), 2.345, "2.35", "2.3"),
        (ValueFormat("ratio"), 0.0344, "3.4 %", "3.4 %"),
        (ValueFormat("seconds"), 134, "2m 14s", "2m 14s"),
        (ValueFormat("seconds"), 7384, "2h 3m", "2h 3m"),
        (ValueFormat("seconds"), 0, "0s", "0s"),
        (ValueFormat("currency", "USD"), 1234.5, "$1,234.50", "$1.2k"),
        (ValueFormat("currency", "JPY"), 1234, "¥1,234", "¥1.2k"),
        (ValueFormat("currency", "CHF"), -5, "-CHF 5.00", "-CHF 5"),
        (ValueFormat("currency_per_unit", "EUR"), 0.42, "€0.42", "€0.42"),
    ],
)
def test_values_are_formatted_with_their_unit(unit, value, full, brief):
    assert (unit.format_in_full_or_dash(value), unit.format_for_axis(value)) == (full, brief)
    assert unit.format_in_full_or_dash(None) == "—"


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("currency", 999.5, "$999.50"),
        ("currency", -1234.5, "-$1,234"),
        ("count", 12480, "12,480"),
        ("ratio", None, "—"),
        ("multiple", 2.5, "2.50x"),
    ],
)
def test_amounts_on_tiles_have_no_decimals_from_a_thousand_on(unit, value, text):
    assert ValueFormat(unit, "USD").format_for_tile(value) == text


@pytest.mark.parametrize(("metric", "text"), [("roas", "2.50x"), ("mer", "2.50x"), ("margin", "250.0 %")])
def test_return_on_ad_spend_is_read_as_a_multiple(metric, text):
    catalog = load_installed_registry_once().catalog
    context = build_display_context_for(catalog, ZoneInfo("UTC"), "USD")
    assert context.format_for(catalog.metrics[metric].unit, metric).format_in_full_or_dash(2.5) == text


@pytest.mark.parametrize(
    ("metric", "unit", "value", "before", "text", "verdict"),
    [
        ("visitors", "count", 9, 8, "+12.5 %", "good"),
        ("visitors", "count", 6, 8, "-25.0 %", "bad"),
        ("visitors", "count", 8, 8, "No change", "same"),
        ("visitors", "count", 8, 0, "New", "good"),
        ("bounce_rate", "ratio", 0.3, 0.35, "-5.0 points", "good"),
        ("roas", "multiple", 3, 2, "+50.0 %", "good"),
        ("revenue", "currency", 5, -5, "New", "good"),
        ("visitors", "count", 10**9, 1, "+over 9,999 %", "good"),
    ],
)
def test_change_is_in_points_for_ratios_and_else_in_per_cent(metric, unit, value, before, text, verdict):
    change = describe_change(metric, unit, value, before, "x")
    assert (change.text.replace("\N{MINUS SIGN}", "-"), change.verdict) == (text, verdict)


def test_bucket_sizes_follow_from_their_starts_across_a_clock_change():
    midnight = datetime(2026, 3, 27, 23, tzinfo=UTC)
    daily = [midnight, midnight + timedelta(hours=24), midnight + timedelta(hours=47)]
    assert detect_bucket_size(daily) == "day"
    assert [build_labelled_bucket(start, BERLIN, "day").label for start in daily] == [
        "28 Mar",
        "29 Mar",
        "30 Mar",
    ]
    assert build_labelled_bucket(midnight, BERLIN, "week").title == "Week of Sat 28 March 2026"
    assert build_labelled_bucket(midnight, BERLIN, "quarter").label == "Q1 2026"
    assert build_labelled_bucket(midnight + timedelta(hours=5), BERLIN, "hour").label == "05:00"


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        ("2026-07-01T00:00", "2026-07-01T23:59:59.999", "1 July 2026"),
        ("2026-07-01T00:00", "2026-07-07T23:59:59.999", "1 to 7 July 2026"),
        ("2026-06-08T00:00", "2026-07-07T23:59:59.999", "8 June to 7 July 2026"),
        ("2025-12-31T00:00", "2026-01-01T23:59:59.999", "31 December 2025 to 1 January 2026"),
        ("2026-07-01T08:00", "2026-07-01T09:30", "1 July 2026, 08:00 to 1 July 2026, 09:30"),
    ],
)
def test_ranges_are_formatted_in_words(first, last, text):
    start, end = (datetime.fromisoformat(one).replace(tzinfo=BERLIN) for one in (first, last))
    assert format_inclusive_range(start, end, BERLIN) == text


def test_donut_segments_add_up_to_a_full_circle():
    drawn = build_ring_of_first_six_parts("x", "10", [("a", 5.0, "5"), ("b", 5.0, "5")])
    assert [slice_.share for slice_ in drawn.slices] == [0.5, 0.5]
    assert drawn.slices[0].arc.endswith("50.000 92.000")
    assert build_gauge("x", "100 %", "a", 1.2).slices[0].arc == ""
    assert build_gauge("x", "0 %", "a", 0.0).slices[0].share == 0


def test_bars_scale_to_the_longest_and_null_has_none():
    drawn = build_bars_relative_to_longest(
        [("a", 4.0, "4", ""), ("b", 1.0, "1", ""), ("c", None, "—", ""), ("d", -2.0, "-2", "")]
    )
    assert [row.width for row in drawn] == [100.0, 25.0, 0.0, 0.0]


def daily_response(rows_, *, truncated=False):
    columns = [
        {"id": "bucket", "kind": "bucket"}, {"id": "channel", "kind": "dimension"},
        {"id": "visitors", "kind": "metric", "unit": "count"},
    ]  # fmt: skip
    covered = {"from": "2026-07-01T00:00:00.000Z", "to": "2026-07-03T23:59:59.999Z", "partial": False}
    meta = {"resolved": {"interval": "day", "date_range": covered}, "unavailable": [], "truncated": truncated}
    return {
        "columns": columns, "rows": rows_, "totals": {"visitors": 9}, "comparison": None,
        "meta": meta | {"data_through": "2026-07-08T00:00:00.000Z"},
    }  # fmt: skip


@pytest.mark.parametrize(("truncated", "missing"), [(False, 0), (True, None)])
def test_missing_bucket_is_zero_unless_rows_were_truncated(truncated, missing):
    listed = [{"bucket": "2026-07-01T00:00:00.000Z", "channel": "direct", "visitors": 9}]
    card = build_query_card_by_columns(
        "x", daily_response(listed, truncated=truncated), DisplayContext(ZoneInfo("UTC"), "USD")
    )
    assert [mark.text for mark in card.figure.marks] == ["1 Jul", "2 Jul", "3 Jul"]
    assert [len(stop.dots) for stop in card.figure.stops] == [1, 0, 0] if missing is None else [1, 1, 1]
    assert ("More rows are not shown." in card.notes) is truncated


def test_only_the_largest_series_are_drawn_with_a_note():
    listed = [
        {"bucket": "2026-07-01T00:00:00.000Z", "channel": f"c{index}", "visitors": index}
        for index in range(8)
    ]
    card = build_query_card_by_columns("x", daily_response(listed), DisplayContext(ZoneInfo("UTC"), "USD"))
    assert card.figure.names == ("C7", "C6", "C5", "C4", "C3")
    assert "Top 5 of 8." in card.notes
    assert len(card.table.rows) == 8
    assert not math.isnan(card.figure.zero)


@pytest.mark.parametrize(("size", "bars", "said"), [("md", 10, True), ("lg", 30, False)])
def test_long_list_is_cut_on_dashboards_and_its_table_is_not(size, bars, said):
    listed = [{"name": f"/{index}", "count": 30 - index, "percentage": 1.0} for index in range(30)]
    data = {"data": listed, "type": "page", "metric": "pageviews"}
    summary = {"id": "x", "name": "Pages", "kind": "breakdown", "source": "catalog"}
    run = {"report": summary, "data": data, "filters_skipped": [], "complete": True}
    card = build_report_card_by_answer_fields(run, None, DisplayContext(ZoneInfo("UTC"), "USD"), size)
    assert (len(card.figure), len(card.table.rows)) == (bars, 30)
    assert ("Top 10 of 30." in card.notes) is said


@pytest.mark.parametrize("count", range(1, 120))
def test_major_labels_of_the_axis_stay_apart_on_narrow_cards(count):
    buckets = [Bucket(str(index), str(index)) for index in range(count)]
    series = [Series("Visitors", tuple(float(index) for index in range(count)))]
    plot = build_plot("Visitors", buckets, series, unit=ValueFormat(), style="line")
    major = [mark.x for mark in plot.marks if not mark.minor]
    assert [plot.marks[0].minor, plot.marks[-1].minor] == [False, False]
    assert all(after - before >= 25 for before, after in pairwise(major))
