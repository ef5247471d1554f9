"""Clicks on the trackable links of the example shop, as browsers send them to the running service."""

from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from random import Random
from typing import Final
from urllib.parse import urlsplit

from hosts.demo.shop.catalog import DEVICES, LINKS

SEED: Final = 22
_MAX_CLICKS: Final = 8
_TIMEOUT_SECONDS: Final = 60


def click_links(ingest: str) -> None:
    """Requests each link a few times, with different browsers; follows no redirect.

    A host that does not answer leaves the links without further clicks.

    Args:
        ingest: URL of the ingest host.
    """
    random = Random(SEED)  # noqa: S311 - invented clicks, no secret
    connection = HTTPConnection(urlsplit(ingest).netloc, timeout=_TIMEOUT_SECONDS)
    with closing(connection), suppress(OSError, HTTPException):
        for link in LINKS:
            for device in random.sample(DEVICES, random.randint(2, _MAX_CLICKS)):
                connection.request("GET", f"/l/{link['slug']}", headers={"User-Agent": device.user_agent})
                connection.getresponse().read()
