"""Implements the port `TxtRecords` with name servers."""

import asyncio
from collections.abc import Collection
from importlib import import_module
from typing import Final

from plugins.dns_resolver.settings import ResolverSettings
from service_core.plugin import DnsUnavailable, StartupError

_LOOKUP_MODULE: Final = "plugins.dns_resolver.txt_lookup"
_PROBE_NAME: Final = "example.com"


class NameServers:
    """Looks up TXT records; dnspython takes half a second to import, so it is loaded with the first look-up.

    A question holds no thread, so names whose servers never answer keep nobody else waiting.
    """

    def __init__(self, settings: ResolverSettings) -> None:
        self._settings = settings

    async def check(self) -> None:
        """Checks that a name server answers, with a well-known name.

        Raises:
            StartupError: none does.
        """
        try:
            await self.query_txt(_PROBE_NAME)
        except DnsUnavailable as fault:
            server_name = (
                f"The name server {self._settings.host}"
                if self._settings.host
                else "The name server of this machine"
            )
            raise StartupError(
                f"{server_name} does not answer ({fault}): no link domain can be verified. Name another in links.dns_resolver, as in "
                "dns://9.9.9.9."
            ) from None

    async def query_txt(self, name: str) -> Collection[str]:
        """Returns the texts of the records of a name; see `TxtRecords.texts`."""
        lookup = await asyncio.to_thread(import_module, _LOOKUP_MODULE)
        texts: Collection[str] = await lookup.resolve_txt(name, self._settings)
        return texts
