"""The `GeoLocator` port on a MaxMind DB file that is held in memory."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import maxminddb

from service_core.plugin import GeoLocation, StartupError

_CACHE_SIZE: Final = 10_000


class MmdbGeoLocator:
    """Locates IP addresses.

    Args:
        path: the database: GeoLite2 or GeoIP2 City or Country, DB-IP lite, or another of their shape.
        language: of region and city names; English stands in where a name has no such language.

    Raises:
        StartupError: the file is absent or no such database.
    """

    def __init__(self, path: Path, language: str) -> None:
        try:
            self._reader = maxminddb.open_database(path, maxminddb.MODE_MEMORY)
        except FileNotFoundError:
            raise StartupError(
                f"The place database {path} does not exist. Download one (its page in the docs names free ones), correct "
                'geo.database, or set it to "" to run without places.'
            ) from None
        except (maxminddb.InvalidDatabaseError, OSError) as fault:
            raise StartupError(f"The place database {path} cannot be read: {fault}") from fault
        self._language = language
        self._locate_cached = lru_cache(_CACHE_SIZE)(self._locate_uncached)

    def locate(self, ip: str) -> GeoLocation | None:
        """Returns the location of an IP address; None if the database does not contain it."""
        return self._locate_cached(ip)

    async def aclose(self) -> None:
        """Closes the file."""
        self._reader.close()

    def _locate_uncached(self, ip: str) -> GeoLocation | None:
        try:
            record = self._reader.get(ip)
        except (ValueError, maxminddb.InvalidDatabaseError):
            return None
        return self._to_location_or_none_if_empty(record) if isinstance(record, dict) else None

    def _to_location_or_none_if_empty(self, record: Mapping[str, Any]) -> GeoLocation | None:
        country = _sub_record(record, "country") or _sub_record(record, "registered_country")
        region = next(iter(record.get("subdivisions") or ()), None)
        place = GeoLocation(
            country=_non_empty_text(country.get("iso_code")) or _non_empty_text(record.get("country_code")),
            region=self._localized_name(region if isinstance(region, dict) else {})
            or _non_empty_text(record.get("state1")),
            city=self._localized_name(_sub_record(record, "city")) or _non_empty_text(record.get("city")),
            timezone=_non_empty_text(_sub_record(record, "location").get("time_zone"))
            or _non_empty_text(record.get("timezone")),
        )
        return None if place == GeoLocation() else place

    def _localized_name(self, group: Mapping[str, Any]) -> str | None:
        names = _sub_record(group, "names")
        return _non_empty_text(names.get(self._language)) or _non_empty_text(names.get("en"))


def _sub_record(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _non_empty_text(value: object) -> str | None:
    return value or None if isinstance(value, str) else None
