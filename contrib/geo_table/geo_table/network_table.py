"""The `GeoLocator` port on a table of networks."""

import csv
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Self

from service_core.plugin import GeoLocation, StartupError

Network = IPv4Network | IPv6Network


class LongestPrefixNetworkTable:
    """Places of networks; the longest network that holds an address gives its place."""

    def __init__(self, places: Mapping[Network, GeoLocation]) -> None:
        self._places = places
        self._lengths = {
            version: sorted({net.prefixlen for net in places if net.version == version}, reverse=True)
            for version in (4, 6)
        }

    @classmethod
    def read_csv(cls, path: Path, delimiter: str) -> Self:
        """The table in a CSV file with the columns network, country, region, city, timezone.

        Raises:
            StartupError: the file is absent, or a line holds no network.
        """
        places: dict[Network, GeoLocation] = {}
        try:
            with path.open(newline="", encoding="utf-8") as file:
                for number, row in enumerate(csv.DictReader(file, delimiter=delimiter), start=2):
                    places[_parse_network_or_raise_startup_error(row, path, number)] = _parse_location(row)
        except OSError as fault:
            raise StartupError(
                f"The table of places {path} cannot be read: {fault.strerror}. Correct geo.database."
            ) from None
        return cls(places)

    def locate(self, ip: str) -> GeoLocation | None:
        """The place of an IP address; None when no network of the table holds it."""
        try:
            address = ip_address(ip)
        except ValueError:
            return None
        for length in self._lengths[address.version]:
            place = self._places.get(ip_network((address, length), strict=False))
            if place is not None:
                return place
        return None


def _parse_network_or_raise_startup_error(
    row: Mapping[str, str | None], path: Path, line_number: int
) -> Network:
    try:
        return ip_network(row.get("network") or "")
    except ValueError as fault:
        raise StartupError(
            f"{path}, line {line_number}: {fault}. Write a network such as 203.0.113.0/24."
        ) from None


def _parse_location(row: Mapping[str, str | None]) -> GeoLocation:
    return GeoLocation(
        country=row.get("country") or None,
        region=row.get("region") or None,
        city=row.get("city") or None,
        timezone=row.get("timezone") or None,
    )
