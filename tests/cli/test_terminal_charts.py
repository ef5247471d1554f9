"""What the terminal shows gives way to its width; numbers do not."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from hosts.cli.query import _render_table
from hosts.cli.terminal import SafeConsole
from hosts.cli.terminal_charts import render_chart, render_ranking

LONG = "/presentations/logstash-puppetconf-2012/and/more/of/it/"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_shortens_names_and_bars_and_keeps_every_number(width):
    console = Console(width=width)
    with console.capture() as shown:
        console.print(render_ranking("Pages", [(LONG, 1253, 8.6), ("/", 49, 100.0)], console.width))
    title, first, second = shown.get().splitlines()
    assert title.strip() == "Pages"
    assert first.split()[-4:-3] + first.split()[-2:] == ["1,253", "8.6", "%"]
    assert second.split()[0] == "/"
    assert second.split()[-2:] == ["100.0", "%"]
    assert max(len(first), len(second)) <= width


def test_a_ranking_of_nothing_says_so():
    console = Console(width=60)
    with console.capture() as shown:
        console.print(render_ranking("Pages", [], console.width))
    assert "nothing" in shown.get()


def drawn(*values, size="hour", width=60):
    console = Console(width=width)
    starts = [datetime(2026, 7, 1, tzinfo=UTC) + timedelta(hours=place) for place in range(len(values))]
    with console.capture() as shown:
        console.print(render_chart("visitors", size, starts, values, ZoneInfo("UTC"), console.width))
    return shown.get().splitlines()


def test_a_chart_wider_than_the_terminal_draws_the_highest_of_neighbours_for_not_everything_adds_up():
    lines = drawn(*[1, 2, 5] * 40, width=60)
    assert lines[0] == "visitors per hour, the highest of every 2 (at most 5)"
    assert max(map(len, lines)) == 60


def test_a_chart_of_days_says_days_and_one_of_hours_the_time():
    assert drawn(3, 4, size="day")[-1].split() == ["Jul", "01", "Jul", "01"]
    assert drawn(3, 4)[-1].split() == ["Jul", "01", "00:00", "Jul", "01", "01:00"]


def answer(*columns, rows, totals):
    return {"columns": [{"id": id_, "kind": kind} for id_, kind in columns], "rows": rows, "totals": totals}


def test_a_total_stands_below_rows_and_not_below_itself():
    console = Console(width=60)
    one = answer(("visitors", "metric"), rows=[{"visitors": 3}], totals={"visitors": 3})
    two = answer(
        ("os", "dimension"),
        ("visitors", "metric"),
        rows=[{"os": "iOS", "visitors": 3}],
        totals={"visitors": 3},
    )
    with console.capture() as shown:
        console.print(_render_table(one, None, ZoneInfo("UTC")), _render_table(two, None, ZoneInfo("UTC")))
    assert shown.get().split() == ["visitors", "3", "os", "visitors", "iOS", "3", "total", "3"]


def test_a_name_that_comes_with_an_event_orders_the_terminal_nothing():
    terminal = SafeConsole(width=60, force_terminal=True, color_system=None)
    with terminal.capture() as shown:
        terminal.print(render_ranking("Pages", [("/a\x1b[2J\x9b1;1H\x07\r", 3, 100.0)], terminal.width))
        terminal.print("\x1b]0;title\x07", markup=False)
    assert "/a[2J1;1H" in shown.get()
    assert set(shown.get()) & {"\x1b", "\x9b", "\x07", "\r"} == set()
