"""Places from a MaxMind DB file, which the test writes itself."""

import ipaddress
import struct

import pytest

from plugins.geo_mmdb.adapter import MmdbGeoLocator
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.plugin import GeoLocation, StartupError

CITY = {
    "country": {"iso_code": "DE", "names": {"en": "Germany"}},
    "subdivisions": [{"names": {"en": "Land Berlin", "de": "Berlin (Land)"}}],
    "city": {"names": {"en": "Berlin"}},
    "location": {"time_zone": "Europe/Berlin"},
}
COUNTRY = {"registered_country": {"iso_code": "NZ"}}


def encode_value(value):
    """A value in the data section of the format, without pointers."""
    if isinstance(value, str):
        kind, size, payload = 2, len(value.encode()), value.encode()
    elif isinstance(value, int):
        payload = value.to_bytes(8, "big").lstrip(b"\0")
        kind, size = 9, len(payload)
    elif isinstance(value, dict):
        kind, size = 7, len(value)
        payload = b"".join(encode_value(key) + encode_value(item) for key, item in value.items())
    else:
        kind, size, payload = 11, len(value), b"".join(map(encode_value, value))
    first = (kind if kind <= 7 else 0) << 5 | size if size < 29 else (kind if kind <= 7 else 0) << 5 | 29
    head = bytes([first]) if kind <= 7 else bytes([first, kind - 7])
    return head + (bytes([size - 29]) if size >= 29 else b"") + payload


def build_database(networks):
    """A search tree of 24-bit records over IPv6 (IPv4 below ::/96), then data, then metadata."""
    nodes, leaves, data = [[None, None]], {}, b""
    for network, record in networks.items():
        net = ipaddress.ip_network(network)
        extra = 96 if net.version == 4 else 0
        bits = f"{int(net.network_address):0{128}b}"[: net.prefixlen + extra]
        at = 0
        for bit in map(int, bits[:-1]):
            if nodes[at][bit] is None:
                nodes.append([None, None])
                nodes[at][bit] = len(nodes) - 1
            at = nodes[at][bit]
        leaves[at, int(bits[-1])] = len(data)
        data += encode_value(record)
    tree = b""
    for at, node in enumerate(nodes):
        for bit in (0, 1):
            offset = leaves.get((at, bit))
            value = len(nodes) + 16 + offset if offset is not None else node[bit]
            tree += struct.pack(">I", len(nodes) if value is None else value)[1:]
    metadata = {
        "binary_format_major_version": 2,
        "binary_format_minor_version": 0,
        "build_epoch": 1_780_000_000,
        "database_type": "Test-City",
        "description": {"en": "places of a test"},
        "ip_version": 6,
        "languages": ["en"],
        "node_count": len(nodes),
        "record_size": 24,
    }
    return tree + b"\0" * 16 + data + b"\xab\xcd\xefMaxMind.com" + encode_value(metadata)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "city.mmdb"
    path.write_bytes(build_database({"203.0.113.0/24": CITY, "2001:db8::/32": COUNTRY}))
    return path


def test_address_has_country_region_city_and_zone(file):
    assert MmdbGeoLocator(file, "en").locate("203.0.113.7") == GeoLocation(
        "DE", "Land Berlin", "Berlin", "Europe/Berlin"
    )


def test_names_are_in_the_configured_language_or_english(file):
    assert MmdbGeoLocator(file, "de").locate("203.0.113.7") == GeoLocation(
        "DE", "Berlin (Land)", "Berlin", "Europe/Berlin"
    )


def test_country_database_leaves_the_rest_unknown(file):
    assert MmdbGeoLocator(file, "en").locate("2001:db8::1") == GeoLocation("NZ")


@pytest.mark.parametrize("address", ["198.51.100.1", "::1", "not an address", ""])
def test_unknown_address_has_no_location(file, address):
    assert MmdbGeoLocator(file, "en").locate(address) is None


def test_missing_database_stops_the_start_with_a_hint(tmp_path):
    with pytest.raises(StartupError, match=r"city\.mmdb does not exist\. .*geo\.database"):
        MmdbGeoLocator(tmp_path / "city.mmdb", "en")


def test_file_that_is_no_database_stops_the_start(tmp_path):
    path = tmp_path / "city.mmdb"
    path.write_bytes(b"no database")
    with pytest.raises(StartupError, match="cannot be read"):
        MmdbGeoLocator(path, "en")


async def test_database_is_chosen_by_its_url(file):
    places = collect_plugins_into_registry().open_adapter(
        "geo", "mmdb:///city.mmdb?language=en", base_folder=file.parent
    )
    assert places.locate("203.0.113.7").country == "DE"
    await places.aclose()


def test_url_without_a_file_stops_the_start(tmp_path):
    with pytest.raises(StartupError, match="path"):
        collect_plugins_into_registry().open_adapter("geo", "mmdb://", base_folder=tmp_path)
