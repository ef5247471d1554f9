"""The port `TextRecords` on name servers."""

import asyncio
from collections.abc import Collection
from importlib import import_module
from typing import Final

from plugins.dns_resolver.settings import ResolverSettings

_ASKING: Final = "plugins.dns_resolver.asking"


class NameServers:
    """Loads what asks at the first question: it takes half a second, and most processes never ask.

    A question holds no thread, so names whose servers never answer keep nobody else waiting.
    """

    def __init__(self, settings: ResolverSettings) -> None:
        self._settings = settings

    async def texts(self, name: str) -> Collection[str]:
        """What the records of a name say; see `TextRecords.texts`."""
        asking = await asyncio.to_thread(import_module, _ASKING)
        found: Collection[str] = await asking.texts_of(name, self._settings)
        return found
