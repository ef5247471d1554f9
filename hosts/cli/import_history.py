"""``touchpoint import list`` and ``remove``: what was imported, and how to take it out again."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, WorkspaceId, error_console, output_console

if TYPE_CHECKING:
    from service_core.delivery.imports.models import ImportJob
    from service_core.delivery.imports.removal import PlannedRemoval


def list_imports(
    as_json: AsJson = False, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG
) -> None:
    """List imports, newest first. --json has their sheets."""
    jobs = asyncio.run(_load_imports(config, workspace))
    if as_json:
        typer.echo(json.dumps({"imports": list(map(_import_as_json, jobs))}, indent=2, ensure_ascii=False))
        return
    if not jobs:
        error_console().print("Nothing was imported.", markup=False)
    for job in jobs:
        output_console().print(
            f"{job.created_at:%Y-%m-%d %H:%M} {job.status.value:<9} {job.id} {job.source or job.format.value:<10} "
            f"{job.counts.get('queued', 0):,} events of {job.entry_count:,} rows  {job.file_name}",
            soft_wrap=True, markup=False,
        )  # fmt: skip


def remove_import(
    import_id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the import, as `import list` prints it.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print how many events it would remove.")
    ] = False,
    confirmed: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Remove them in this process, because no service runs.")
    ] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Remove everything that an import brought in.

    The running service removes the events within a minute. Answers are then those of a workspace that never
    imported the file.
    """
    from service_core.delivery.imports.models import ImportStatus
    from service_core.kernel.errors import StartupError

    try:
        id_ = UUID(import_id)
    except ValueError:
        raise StartupError(
            f"{import_id} is no id of an import. `touchpoint import list` prints them."
        ) from None
    if not dry_run and not confirmed:
        typer.confirm(f"Remove everything that import {id_} brought in?", abort=True, err=True)
    removal = asyncio.run(_plan_or_remove(config, workspace, id_, dry_run=dry_run, complete=now))
    if dry_run:
        text = f"Nothing was removed: this was a dry run. The import accepted {removal.accepted:,} events."
    elif removal.job.status is ImportStatus.REMOVING and now:
        text = "Events of the import are not stored yet. Run the command again in a minute to remove them."
    elif now:
        text = f"{removal.job.removed_events:,} events are removed."
    else:
        text = "The removal is requested. `touchpoint import list` shows when the import is removed."
    output_console().print(text, soft_wrap=True, markup=False)


async def _load_imports(config: Path, public_id: str | None) -> "list[ImportJob]":
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store
    from service_core.delivery.imports.models import MAX_LISTED

    async with open_workspace_store(config) as store:
        chosen = await find_named_or_only_workspace(store.credentials, public_id)
        return await store.imports.list_imports(chosen.id, MAX_LISTED)


async def _plan_or_remove(
    config: Path, public_id: str | None, import_id: UUID, *, dry_run: bool, complete: bool
) -> "PlannedRemoval":
    from hosts.cli.deployment import find_named_or_only_workspace, open_existing_deployment
    from service_core.access.internal_callers import build_command_line_caller
    from service_core.delivery.imports.removal import ImportRemoval, request_removal

    async with open_existing_deployment(config, *(("queue", "events") if complete else ())) as ports:
        chosen = await find_named_or_only_workspace(ports.workspace.credentials, public_id)
        removal = await request_removal(
            ports.workspace.imports,
            build_command_line_caller(chosen, ports.clock()),
            import_id,
            dry_run=dry_run,
        )
        if complete and not dry_run:
            await ports.build_from_adapters(ImportRemoval).complete_requested_removals()
            done = await ports.workspace.imports.find_import(import_id)
            return removal if done is None else removal._replace(job=done)
        return removal


def _import_as_json(job: "ImportJob") -> dict[str, object]:
    from service_core.delivery.imports.models import ACCEPTED
    from service_core.ingestion.import_sources.reconciliation import reconciliation_lines_by_day

    return {
        "id": str(job.id),
        "status": job.status.value,
        "source": job.source,
        "format": job.format.value,
        "file_name": job.file_name,
        "created_at": job.created_at.isoformat(),
        "rows": job.entry_count,
        "accepted": job.counts.get(ACCEPTED, 0),
        "removed_events": job.removed_events,
        "days": reconciliation_lines_by_day(job.sheet, ACCEPTED),
    }
