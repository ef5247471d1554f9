"""``touchpoint config accept-lost-events``: a deployment begins without the events of a lost event store."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, output_console
from hosts.cli.settings_used import print_settings_after_change


@print_settings_after_change
def accept_lost_events(
    confirmed: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Accept that the events are lost.

    The next start then creates an empty event store. Without this command a start is refused when the event
    store is missing, because every number would be zero.
    Nothing is deleted: an event store that is found again is used as before.
    """
    if not confirmed:
        typer.confirm("Begin without the events of the missing event store?", abort=True, err=True)
    asyncio.run(_forget_event_store(config))
    output_console().print(
        "The next start creates an empty event store where storage.events is empty.",
        soft_wrap=True,
        markup=False,
    )


async def _forget_event_store(config: Path) -> None:
    from hosts.cli.deployment import open_workspace_store
    from service_core.ingestion.models import KnownEventStore
    from service_core.kernel.clock import system_clock

    async with open_workspace_store(config) as store:
        await store.event_store_record.save_event_store(
            KnownEventStore(location="", since=system_clock(), has_events=False)
        )
