"""What the terminal shows gives way to its width; numbers do not."""

import pytest
from rich.console import Console

from hosts.cli.drawing import ranking

LONG = "/presentations/logstash-puppetconf-2012/and/more/of/it/"


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_shortens_names_and_bars_and_keeps_every_number(width):
    console = Console(width=width)
    with console.capture() as shown:
        console.print(ranking("Pages", [(LONG, 1253, 8.6), ("/", 49, 100.0)], console.width))
    title, first, second = shown.get().splitlines()
    assert title.strip() == "Pages"
    assert first.split()[-4:-3] + first.split()[-2:] == ["1,253", "8.6", "%"]
    assert second.split()[0] == "/"
    assert second.split()[-2:] == ["100.0", "%"]
    assert max(len(first), len(second)) <= width


def test_a_ranking_of_nothing_says_so():
    console = Console(width=60)
    with console.capture() as shown:
        console.print(ranking("Pages", [], console.width))
    assert "nothing" in shown.get()
