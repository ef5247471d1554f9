"""What the terminal shows gives way to its width; numbers do not."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from hosts.cli.query import _render_table
from hosts.cli.terminal import ControlCharacterStrippingConsole
from hosts.cli.terminal_charts import render_chart_of_bucket_maxima, render_ranking_table_with_bars

LONG = "/presentations/logstash-puppetconf-2012/and/more/of/it/"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_narrow_terminal_shortens_names_and_bars_and_keeps_every_number(width):
    console = Console(width=width)
    with console.capture() as shown:
        console.print(
            render_ranking_table_with_bars("Pages", [(LONG, 1253, 8.6), ("/", 49, 100.0)], console.width)
        )
    title, first, second = shown.get().splitlines()
    assert title.strip() == "Pages"
    assert first.split()[-4:-3] + first.split()[-2:] == ["1,253", "8.6", "%"]
    assert second.split()[0] == "/"
    assert second.split()[-2:] == ["100.0", "%"]
    assert max(len(first), len(second)) <= width


def test_empty_ranking_prints_a_message():
    console = Console(width=60)
    with console.capture() as shown:
        console.print(render_ranking_table_with_bars("Pages", [], console.width))
    assert "nothing" in shown.get()


def render_text(*values, size="hour", width=60):
    console = Console(width=width)
    starts = [datetime(2026, 7, 1, tzinfo=UTC) + timedelta(hours=place) for place in range(len(values))]
    with console.capture() as shown:
        console.print(
            render_chart_of_bucket_maxima("visitors", size, starts, values, ZoneInfo("UTC"), console.width)
        )
    return shown.get().splitlines()


def test_wide_chart_draws_the_maximum_of_neighbouring_buckets():
    lines = render_text(*[1, 2, 5] * 40, width=60)
    assert lines[0] == "visitors per hour, the highest of every 2 (at most 5)"
    assert max(map(len, lines)) == 60


def test_chart_labels_are_dates_for_days_and_times_for_hours():
    assert render_text(3, 4, size="day")[-1].split() == ["Jul", "01", "Jul", "01"]
    assert render_text(3, 4)[-1].split() == ["Jul", "01", "00:00", "Jul", "01", "01:00"]


def query_response(*columns, rows, totals):
    return {"columns": [{"id": id_, "kind": kind} for id_, kind in columns], "rows": rows, "totals": totals}


def test_total_is_printed_only_below_rows():
    console = Console(width=60)
    one = query_response(("visitors", "metric"), rows=[{"visitors": 3}], totals={"visitors": 3})
    two = query_response(
        ("os", "dimension"),
        ("visitors", "metric"),
        rows=[{"os": "iOS", "visitors": 3}],
        totals={"visitors": 3},
    )
    with console.capture() as shown:
        console.print(_render_table(one, None, ZoneInfo("UTC")), _render_table(two, None, ZoneInfo("UTC")))
    assert shown.get().split() == ["visitors", "3", "os", "visitors", "iOS", "3", "total", "3"]


def test_control_characters_in_event_names_are_removed():
    terminal = ControlCharacterStrippingConsole(width=60, force_terminal=True, color_system=None)
    with terminal.capture() as shown:
        terminal.print(
            render_ranking_table_with_bars("Pages", [("/a\x1b[2J\x9b1;1H\x07\r", 3, 100.0)], terminal.width)
        )
        terminal.print("\x1b]0;title\x07", markup=False)
    assert "/a[2J1;1H" in shown.get()
    assert set(shown.get()) & {"\x1b", "\x9b", "\x07", "\r"} == set()
