"""The table passes the kit of locations."""

import geo_table
import pytest
from geo_table.network_table import LongestPrefixNetworkTable

from service_core.testing.geo_locator import GeoLocatorConformance
from service_core.testing.plugin import PluginConformance

TABLE = """network,country,region,city,timezone
203.0.113.0/24,DE,Berlin,Berlin,Europe/Berlin
203.0.113.128/25,DE,Hamburg,Hamburg,Europe/Berlin
2001:db8::/32,FR,,,
"""


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "places.csv"
    file.write_text(TABLE)
    return LongestPrefixNetworkTable.read_csv(file, ",")


class TestTable(GeoLocatorConformance):
    known_ip = "203.0.113.7"

    @pytest.fixture
    def locator(self, table):
        return table


class TestPlugin(PluginConformance):
    @pytest.fixture
    def plugin(self):
        return geo_table


def test_longest_network_gives_the_place(table):
    """An address in two networks is in the smaller one, and empty cells are unknown."""
    assert table.locate("203.0.113.200").city == "Hamburg"
    assert (table.locate("2001:db8::1").country, table.locate("2001:db8::1").city) == ("FR", None)
