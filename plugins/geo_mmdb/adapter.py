"""The `Geo` port on a MaxMind DB file, held in memory."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import maxminddb

from service_core.plugin import Place, StartupError

_REMEMBERED: Final = 10_000


class MmdbPlaces:
    """Places of addresses.

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
        self._locate = lru_cache(_REMEMBERED)(self._look_up)

    def locate(self, address: str) -> Place | None:
        """The place of an IP address; None when the database does not know it."""
        return self._locate(address)

    async def aclose(self) -> None:
        """Let the file go."""
        self._reader.close()

    def _look_up(self, address: str) -> Place | None:
        try:
            record = self._reader.get(address)
        except (ValueError, maxminddb.InvalidDatabaseError):
            return None
        return self._place(record) if isinstance(record, dict) else None

    def _place(self, record: Mapping[str, Any]) -> Place | None:
        country = _group(record, "country") or _group(record, "registered_country")
        region = next(iter(record.get("subdivisions") or ()), None)
        place = Place(
            country=_text(country.get("iso_code")) or _text(record.get("country_code")),
            region=self._name(region if isinstance(region, dict) else {}) or _text(record.get("state1")),
            city=self._name(_group(record, "city")) or _text(record.get("city")),
            timezone=_text(_group(record, "location").get("time_zone")) or _text(record.get("timezone")),
        )
        return None if place == Place() else place

    def _name(self, group: Mapping[str, Any]) -> str | None:
        names = _group(group, "names")
        return _text(names.get(self._language)) or _text(names.get("en"))


def _group(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name)
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value or None if isinstance(value, str) else None
