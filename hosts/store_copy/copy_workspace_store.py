"""Copies a workspace store in one transaction, then compares both by reading them again."""

import hashlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hosts.composition.compose import load_registry_of_deployment
from hosts.composition.empty_workspace_store import EmptyWorkspaceStoreCheck
from hosts.composition.load_settings import load_settings_with_environment, redact_url, settings_folder
from hosts.composition.ports import start_adapters
from hosts.consumer_lock import try_consumer_lock
from service_core.access.ports import RowPage, TransferableStore
from service_core.extensions.workspace_store import WorkspaceStore
from service_core.kernel.errors import StartupError

_DIGEST_BYTES: Final = 16
"""Bytes of a fingerprint."""


@dataclass(slots=True)
class StoreContent:
    """The content of a workspace store: counts and order-independent digests of its records.

    Attributes:
        counts: records of each kind.
        digests: sums of their fingerprints.
    """

    counts: Counter[str] = field(default_factory=Counter)
    digests: Counter[str] = field(default_factory=Counter)

    def count_and_digest_page(self, page: RowPage) -> None:
        """Adds records."""
        kind, records = page
        self.counts[kind] += len(records)
        for record in records:
            digest = hashlib.blake2b(repr(sorted(record.items())).encode(), digest_size=_DIGEST_BYTES)
            self.digests[kind] += int.from_bytes(digest.digest())


async def copy_and_compare_workspace_store(
    config: Path, source_url: str | None, target_url: str, on_copied: Callable[[str, int], None]
) -> StoreContent:
    """Copies a workspace store into an empty one.

    Args:
        config: settings file of the deployment.
        source_url: where it is; None for the store of the settings.
        target_url: where it shall be.
        on_copied: hears of each page the kind of its records and how many.

    Returns:
        What was moved.

    Raises:
        StartupError: the deployment consumes, a store cannot be opened or moved, the new one is not empty, or
            what it keeps afterwards is not the same.
        StoreUnavailable: a store went away; the new one is as it was.
    """
    settings, folder = load_settings_with_environment(config), settings_folder(config)
    registry = load_registry_of_deployment(settings, folder)
    origin = source_url or settings.storage.workspace
    if origin == target_url:
        raise StartupError("Both URLs are the same. Name the new store with --to.")
    with try_consumer_lock(folder) as nobody_consumes:
        if not nobody_consumes:
            raise StartupError("The deployment is running. Stop every `touchpoint serve` of it first.")
        stores = [registry.open_adapter("workspace", url, base_folder=folder) for url in (origin, target_url)]
        source, target = map(_require_transferable, stores)
        check = EmptyWorkspaceStoreCheck(stores[0], redact_url(origin))
        async with start_adapters([check, *stores]):
            before = StoreContent()
            async with aclosing(_read_pages_and_record_content(source, before, on_copied)) as pages:
                await target.import_rows_into_empty_store(pages)
            after = await _read_content(target)
    if before != after:
        kinds = sorted(
            kind for kind in before.digests | after.digests if before.digests[kind] != after.digests[kind]
        )
        raise StartupError(
            f"The new store says something else of: {', '.join(kinds)}. The present one stays in use. "
            "Empty the new one before you run the command again."
        )
    return before


def _require_transferable(store: WorkspaceStore) -> TransferableStore:
    if store.transfer is None:
        raise StartupError(f"The workspace store of {type(store).__module__} cannot be moved.")
    return store.transfer


async def _read_pages_and_record_content(
    store: TransferableStore,
    content: StoreContent,
    on_copied: Callable[[str, int], None] = lambda _kind, _count: None,
) -> AsyncGenerator[RowPage, None]:
    async with aclosing(store.export_rows()) as pages:
        async for page in pages:
            content.count_and_digest_page(page)
            yield page
            on_copied(page[0], len(page[1]))


async def _read_content(store: TransferableStore) -> StoreContent:
    content = StoreContent()
    async for _page in _read_pages_and_record_content(store, content):
        pass
    return content
