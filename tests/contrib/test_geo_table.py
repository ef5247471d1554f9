"""A plugin from outside: installed with pip into a folder of its own, found by its entry point, and used."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TABLE = """network,country,region,city,timezone
203.0.113.0/24,DE,Berlin,Berlin,Europe/Berlin
203.0.113.128/25,DE,Hamburg,Hamburg,Europe/Berlin
2001:db8::/32,FR,,,
"""
USE = """
import sys
from pathlib import Path
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError

found = collect_plugins_into_registry()
assert "geo_table" in found.plugins
try:
    places = found.open_adapter("geo", sys.argv[1], base_folder=Path(sys.argv[2]))
except StartupError as fault:
    print(fault)
else:
    for address in sys.argv[3:]:
        print(places.locate(address))
"""


@pytest.fixture(scope="module")
def installed(install):
    return install("geo_table")


@pytest.fixture
def locate_addresses(installed, tmp_path):
    def run(url, *addresses, table=TABLE):
        (tmp_path / "places.csv").write_text(table)
        done = subprocess.run(
            [sys.executable, "-c", USE, url, tmp_path, *addresses],
            env={"PYTHONPATH": str(installed)}, capture_output=True, text=True, check=True, cwd=ROOT,
        )  # fmt: skip
        return done.stdout.splitlines()

    return run


def test_adapter_is_selected_by_url_and_the_longest_prefix_wins(locate_addresses):
    berlin, hamburg, france, unknown, none = locate_addresses(
        "table:///places.csv", "203.0.113.7", "203.0.113.200", "2001:db8::1", "198.51.100.1", "no address"
    )
    assert "city='Berlin'" in berlin
    assert "city='Hamburg'" in hamburg
    assert france == "GeoLocation(country='FR', region=None, city=None, timezone=None)"
    assert (unknown, none) == ("None", "None")


def test_adapter_option_is_read_from_the_url(locate_addresses):
    assert (
        "country='DE'"
        in locate_addresses(
            "table:///places.csv?delimiter=%3B", "203.0.113.7", table=TABLE.replace(",", ";")
        )[0]
    )


@pytest.mark.parametrize(
    ("url", "table", "said"),
    [
        ("table:///none.csv", TABLE, "Correct geo.database"),
        ("table:///places.csv", "network\n203.0.113.7/24\n", "line 2"),
        ("table:///places.csv?limiter=x", TABLE, "delimiter"),
    ],
)
def test_invalid_table_stops_the_start(locate_addresses, url, table, said):
    assert said in locate_addresses(url, table=table)[0]
