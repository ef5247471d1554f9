"""``touchpoint lake``: the Parquet files of events, for programs that read them without the service."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hosts.cli.options import (
    DEFAULT_CONFIG,
    AsJson,
    ConfigFile,
    OptionalWorkspace,
    WorkspaceId,
    output_console,
)
from hosts.cli.settings_used import print_settings_after_change
from service_core.kernel.timestamps import format_timestamp

if TYPE_CHECKING:
    from hosts.composition.ports import Ports
    from service_core.access.models import Workspace
    from service_core.delivery.lake.models import LakeManifest

app = typer.Typer(help="Write events as Parquet files by day.", no_args_is_help=True, rich_markup_mode=None)


@app.command("write")
@print_settings_after_change
def write_lake(
    check_all: Annotated[
        bool, typer.Option("--all", help="Read every day again, not only those that changed.")
    ] = False,
    as_json: AsJson = False,
    workspace: OptionalWorkspace = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Write the days that changed.

    The running service does it at the interval of `lake.interval_minutes`. This command needs an event store that is a
    server, or no running service.
    """
    _print_lakes(asyncio.run(_write_lakes(config, workspace, check_all=check_all)), as_json=as_json)


@app.command("status")
def show_status(
    as_json: AsJson = False, workspace: OptionalWorkspace = None, config: ConfigFile = DEFAULT_CONFIG
) -> None:
    """Show up to when the files hold events, and how many."""
    _print_lakes(asyncio.run(_read_manifests(config, workspace)), as_json=as_json)


@app.command("dbt-sources")
def print_dbt_sources(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Folder or bucket of `lake.storage`, as dbt reads it.")
    ],
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Print a source of dbt with columns and tests."""
    import yaml

    from hosts.cli.dbt_sources import describe_dbt_sources

    described = describe_dbt_sources(f"{url.rstrip('/')}/{asyncio.run(_find_public_id(config, workspace))}")
    typer.echo(yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=120), nl=False)


async def _find_public_id(config: Path, public_id: str | None) -> str:
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store

    async with open_workspace_store(config) as store:
        return (await find_named_or_only_workspace(store.credentials, public_id)).public_id


async def _write_lakes(config: Path, public_id: str | None, *, check_all: bool) -> "list[LakeManifest]":
    from hosts.cli.deployment import open_existing_deployment
    from hosts.worker.lake import build_lake_writer
    from service_core.delivery.lake.write_lake import LakeBusy
    from service_core.kernel.errors import StartupError

    async with open_existing_deployment(config, "queue", "events", "lake") as ports:
        writer = build_lake_writer(ports)
        chosen = await _list_named_or_all_workspaces(ports, public_id)
        try:
            return [await writer.write_lake(workspace, check_all=check_all) for workspace in chosen]
        except LakeBusy:
            raise StartupError(
                "The running service is writing this lake. Try again in a few minutes."
            ) from None


async def _read_manifests(config: Path, public_id: str | None) -> "list[LakeManifest]":
    from hosts.cli.deployment import open_existing_deployment
    from hosts.worker.lake import require_lake_storage
    from service_core.delivery.lake.write_lake import read_manifest

    async with open_existing_deployment(config, "lake") as ports:
        storage = require_lake_storage(ports)
        chosen = await _list_named_or_all_workspaces(ports, public_id)
        manifests = [await read_manifest(storage, workspace) for workspace in chosen]
    return [manifest for manifest in manifests if manifest is not None]


async def _list_named_or_all_workspaces(ports: "Ports", public_id: str | None) -> "list[Workspace]":
    """Returns the workspaces of a deployment, or the named one.

    Raises:
        typer.BadParameter: none has this id.
    """
    workspaces = await ports.workspace.credentials.list_workspaces()
    chosen = [workspace for workspace in workspaces if public_id in {None, workspace.public_id}]
    if public_id is not None and not chosen:
        raise typer.BadParameter(f"there is no workspace {public_id}", param_hint="--workspace")
    return chosen


def _print_lakes(manifests: "list[LakeManifest]", *, as_json: bool) -> None:
    lakes: list[dict[str, Any]] = [
        {
            "workspace": manifest.workspace_id,
            "as_of": format_timestamp(manifest.as_of),
            "days": len(manifest.files_by_day()),
            "files": len(manifest.files),
            "rows": manifest.row_count,
            "bytes": sum(file.size for file in manifest.files),
            "tables": {
                name: sum(file.rows for file in files) for name, files in manifest.tables.items() if files
            },
            "left_out": dict(manifest.left_out),
        }
        for manifest in manifests
    ]
    if as_json:
        typer.echo(json.dumps({"lakes": lakes}, indent=2))
        return
    console = output_console()
    if not lakes:
        console.print("No lake is written yet.", markup=False)
    for lake in lakes:
        tables = "".join(f", {rows} rows of {name}" for name, rows in lake["tables"].items())
        console.print(
            f"{lake['workspace']}  {lake['rows']} events of {lake['days']} days in {lake['files']} files, "
            f"{lake['bytes']} bytes{tables}, as of {lake['as_of']}",
            soft_wrap=True, markup=False,
        )  # fmt: skip
