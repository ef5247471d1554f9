"""``touchpoint person``: everything about one person, and the erasure of a person."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, WorkspaceId, error_console, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from service_core.privacy.models import Erasure

app = typer.Typer(help="Export or erase the data of one person.", no_args_is_help=True, rich_markup_mode=None)

PersonId = Annotated[
    str, typer.Argument(metavar="ID", help="User id, visitor id or e-mail address of the person.")
]


@app.command("erase")
@print_settings_after_change
def erase_person(
    person: PersonId,
    confirmed: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Complete it in this process, because no service runs.")
    ] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Erase a person everywhere in a workspace.

    The running service completes it within a minute, once the events received before are stored.
    It removes events, identity links, touches, postbacks, subscriptions, quarantined events, export files, and import
    files with an id of the person.
    """
    if not confirmed:
        typer.confirm(f"Erase {person} for ever?", abort=True, err=True)
    erasure = asyncio.run(_request_erasure(config, workspace, person, complete=now))
    console = output_console()
    if erasure.certificate is None:
        console.print(
            f"Erasure {erasure.id} is requested. `touchpoint person erasures` shows when it is completed.",
            soft_wrap=True, markup=False,
        )  # fmt: skip
    else:
        typer.echo(json.dumps(erasure.certificate, indent=2, ensure_ascii=False))


@app.command("erasures")
def list_erasures(
    as_json: AsJson = False, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG
) -> None:
    """List the erasures of a workspace, with their certificates."""
    erasures = asyncio.run(_load_erasures(config, workspace))
    if as_json:
        certificates = [
            {"id": str(erasure.id), "status": erasure.status.value, "certificate": erasure.certificate}
            for erasure in erasures
        ]
        typer.echo(json.dumps({"erasures": certificates}, indent=2, ensure_ascii=False))
        return
    if not erasures:
        error_console().print("No erasure was requested.", markup=False)
    for erasure in erasures:
        output_console().print(
            f"{erasure.requested_at:%Y-%m-%d %H:%M} {erasure.status.value:<9} {erasure.id}",
            soft_wrap=True, markup=False,
        )  # fmt: skip


@app.command("tombstones")
def print_tombstones(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Print tombstones of erased persons as JSON lines.

    `touchpoint restore --tombstones FILE` erases these persons from an older backup.
    A tombstone holds keyed digests of ids, and no id.
    """
    from hosts.backup.tombstones import tombstone_to_json

    for erasure in asyncio.run(_load_erasures(config, workspace)):
        if erasure.completed_at is not None:
            typer.echo(json.dumps(tombstone_to_json(erasure)))


@app.command("export")
def export_person(
    person: PersonId, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG
) -> None:
    """Print all data of a person as JSON.

    An embedded event store can be read while no service runs; otherwise use the page Privacy of the web application.
    """
    found = asyncio.run(_collect_personal_data(config, workspace, person))
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))


async def _request_erasure(config: Path, public_id: str | None, person: str, *, complete: bool) -> "Erasure":
    from hosts.cli.deployment import find_named_or_only_workspace, open_existing_deployment
    from hosts.roles.tasks import build_person_erasure
    from service_core.privacy.models import request_erasure

    async with open_existing_deployment(
        config, *(("queue", "events", "export_storage") if complete else ())
    ) as ports:
        chosen = await find_named_or_only_workspace(ports.workspace.credentials, public_id)
        erasure = request_erasure(chosen.id, person, "command line", ports.clock())
        await ports.workspace.erasures.save_erasure(erasure)
        if complete:
            completed = await build_person_erasure(ports).complete_requested_removals()
            return next((done for done in completed if done.id == erasure.id), erasure)
        return erasure


async def _load_erasures(config: Path, public_id: str | None) -> "list[Erasure]":
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store

    async with open_workspace_store(config) as store:
        chosen = await find_named_or_only_workspace(store.credentials, public_id)
        return await store.erasures.list_erasures(chosen.id)


async def _collect_personal_data(config: Path, public_id: str | None, person: str) -> dict[str, object]:
    from hosts.cli.deployment import find_named_or_only_workspace, open_existing_deployment
    from hosts.data_import.file_search import build_personal_import_files
    from service_core.privacy.access_request import AccessRequests

    async with open_existing_deployment(config, "queue", "events", "export_storage") as ports:
        chosen = await find_named_or_only_workspace(ports.workspace.credentials, public_id)
        requests = ports.build_from_adapters(AccessRequests, import_files=build_personal_import_files(ports))
        return await requests.collect(chosen, person, ports.clock())
