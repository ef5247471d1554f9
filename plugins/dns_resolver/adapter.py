"""The port `TextRecords` on dnspython, one look-up in a thread."""

import asyncio
from collections.abc import Collection
from typing import Final

from plugins.dns_resolver.settings import ResolverSettings
from service_core.plugin import RecordsDown

_PORT: Final = 53


class Resolver:
    """Asks name servers anew every time: an answer of a minute ago may miss the record somebody just wrote."""

    def __init__(self, settings: ResolverSettings) -> None:
        self._settings = settings

    async def texts(self, name: str) -> Collection[str]:
        """What the records of a name say; see `TextRecords.texts`."""
        return await asyncio.to_thread(self._texts, name)

    def _texts(self, name: str) -> Collection[str]:
        from dns import exception, resolver  # noqa: PLC0415 - half a second; most processes never look one up

        try:
            asked = resolver.Resolver(configure=self._settings.host is None)
            if self._settings.host is not None:
                asked.nameservers, asked.port = [self._settings.host], self._settings.port or _PORT
            found = asked.resolve(f"{name}.", "TXT", lifetime=self._settings.patience_seconds)
        except (resolver.NXDOMAIN, resolver.NoAnswer):
            return ()
        except (exception.DNSException, OSError) as fault:
            raise RecordsDown(type(fault).__name__) from None
        # A long text comes in pieces of 255 bytes; they are one.
        return [b"".join(record.strings).decode("utf-8", "replace") for record in found]
