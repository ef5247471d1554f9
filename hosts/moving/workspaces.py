"""A move of all a workspace store keeps: copied in one transaction, then read again on both sides."""

import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hosts.composition.compose import installed
from hosts.composition.load import folder_of, load_settings
from hosts.composition.ports import running
from hosts.ownership import consumer_of
from service_core.access.ports import Portable, Records
from service_core.kernel.errors import StartupError

_WIDTH: Final = 16
"""Bytes of a fingerprint."""


@dataclass(slots=True)
class Content:
    """What a store keeps, told by its records in any order.

    Attributes:
        counts: records of each kind.
        prints: sums of their fingerprints.
    """

    counts: Counter[str] = field(default_factory=Counter)
    prints: Counter[str] = field(default_factory=Counter)

    def add(self, page: Records) -> None:
        """Count some records in."""
        kind, records = page
        self.counts[kind] += len(records)
        for record in records:
            told = hashlib.blake2b(repr(sorted(record.items())).encode(), digest_size=_WIDTH)
            self.prints[kind] += int.from_bytes(told.digest())


async def move_workspaces(
    config: Path, source_url: str | None, target_url: str, watching: Callable[[str, int], None]
) -> Content:
    """Bring all a workspace store keeps into an empty one.

    Args:
        config: settings file of the deployment.
        source_url: where it is; None for the store of the settings.
        target_url: where it shall be.
        watching: hears of each page the kind of its records and how many.

    Returns:
        What was moved.

    Raises:
        StartupError: the deployment consumes, a store cannot be opened or moved, the new one is not empty, or
            what it keeps afterwards is not the same.
        StoreUnavailable: a store went away; the new one is as it was.
    """
    settings, registry, folder = load_settings(config), installed(), folder_of(config)
    origin = source_url or settings.storage.workspace
    if origin == target_url:
        raise StartupError("Both URLs are the same. Name the new store with --to.")
    with consumer_of(folder) as nobody_consumes:
        if not nobody_consumes:
            raise StartupError("The deployment is running. Stop every `touchpoint serve` of it first.")
        source, target = (
            _portable(registry.open("workspace", url, folder=folder)) for url in (origin, target_url)
        )
        async with running([source, target]):
            before = Content()
            async with aclosing(_read(source, before, watching)) as pages:
                await target.take(pages)
            after = await _content_of(target)
    if before != after:
        kinds = sorted(
            kind for kind in before.prints | after.prints if before.prints[kind] != after.prints[kind]
        )
        raise StartupError(
            f"The new store says something else of: {', '.join(kinds)}. The present one stays in use. "
            "Empty the new one before you run the command again."
        )
    return before


def _portable(store: object) -> Portable:
    if not isinstance(store, Portable):
        raise StartupError(f"The workspace store of {type(store).__module__} cannot be moved.")
    return store


async def _read(
    store: Portable, content: Content, watching: Callable[[str, int], None] = lambda _kind, _count: None
) -> AsyncGenerator[Records, None]:
    async with aclosing(store.records()) as pages:
        async for page in pages:
            content.add(page)
            yield page
            watching(page[0], len(page[1]))


async def _content_of(store: Portable) -> Content:
    content = Content()
    async for _page in _read(store, content):
        pass
    return content
