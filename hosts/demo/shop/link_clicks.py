"""Clicks on the trackable links of the example shop, as browsers send them to the running service."""

from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from random import Random
from typing import Final
from urllib.parse import urlsplit

from hosts.demo.shop.catalog import DEVICES, LINKS

SEED: Final = 22
_CLICKS: Final = {"kettle": 72, "podcast": 64, "card": 5}
"""Slug of a link -> its clicks; more than the visits it brings."""

_VERSION: Final = "140.0"
_TIMEOUT_SECONDS: Final = 60


def click_links(ingest: str) -> None:
    """Requests each link as often as it has clicks, with different browsers; follows no redirect.

    A host that does not answer leaves the links without further clicks.

    Args:
        ingest: URL of the ingest host.
    """
    random = Random(SEED)  # noqa: S311 - invented clicks, no secret
    connection = HTTPConnection(urlsplit(ingest).netloc, timeout=_TIMEOUT_SECONDS)
    with closing(connection), suppress(OSError, HTTPException):
        for link in LINKS:
            for number in range(_CLICKS[link["slug"]]):
                browser = random.choice(DEVICES).user_agent.replace(_VERSION, f"{60 + number}.0")
                connection.request("GET", f"/l/{link['slug']}", headers={"User-Agent": browser})
                connection.getresponse().read()
