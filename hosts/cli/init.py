"""``touchpoint init``: a folder, its settings, its stores and a first workspace."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import SETTINGS_FILE, AsJson, Template, output_console

if TYPE_CHECKING:
    from service_core.access.api_keys import CreatedWorkspace


def _parse_host(name: str | None) -> str | None:
    if name is not None and any(sign in name for sign in "/:@ "):
        raise typer.BadParameter(f"{name}: write the host alone, as in shop.example")
    return name


Name = Annotated[str, typer.Option(metavar="NAME", help="Name of the workspace.")]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="IANA time zone of the workspace.")]
Currency = Annotated[str, typer.Option(metavar="CUR", help="Reporting currency.")]
Domain = Annotated[
    str | None,
    typer.Option(
        metavar="HOST", callback=_parse_host, help="Domain of the site; links from it are not referrers."
    ),
]


def create_deployment_and_print_keys(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Data folder; created when missing.")],
    name: Name = "My workspace",
    timezone: Zone = "UTC",
    currency: Currency = "USD",
    domain: Domain = None,
    config: Template = None,
    as_json: AsJson = False,
) -> None:
    """Create a data folder and a first workspace.

    Writes DIR/touchpoint.toml, creates the stores, and shows the write key and the Agent key this once.
    Settings that the environment names now are written into the file, passwords as references to
    their variables, so that later commands work on the same stores or refuse.
    """
    file = folder / SETTINGS_FILE
    created = create_deployment_or_remove_settings_file(
        file, config, name=name, timezone=timezone, currency=currency, domain=domain
    )
    print_new_workspace(created, file, as_json=as_json)
    if not as_json:
        output_console().print(f"Start it: touchpoint serve --config {file}", soft_wrap=True, markup=False)


def print_new_workspace(created: "CreatedWorkspace", file: Path, *, as_json: bool) -> None:
    """Tell a new workspace and its keys, this once."""
    if as_json:
        typer.echo(json.dumps(_deployment_to_json(created, file)))
    else:
        _print_new_workspace_keys(created, file)


def create_deployment_or_remove_settings_file(
    settings_file: Path,
    template: Path | None = None,
    *,
    name: str,
    timezone: str,
    currency: str,
    domain: str | None,
) -> "CreatedWorkspace":
    """Write the settings file, create the stores and a first workspace.

    Args:
        settings_file: the settings file to write; paths inside are relative to its folder.
        template: settings to copy; without it every store is an embedded one.
        name: of the workspace.
        timezone: IANA zone.
        currency: ISO 4217 code.
        domain: site of the workspace.

    Raises:
        StartupError: the file exists, or the deployment cannot be used.
    """
    _write_new_settings_file_with_environment(settings_file, template)
    try:
        return asyncio.run(_create_first_workspace(settings_file, name, timezone, currency, domain))
    except BaseException:
        settings_file.unlink()  # a second try starts where this one did
        raise


def _write_new_settings_file_with_environment(file: Path, template: Path | None) -> None:
    from hosts.cli.settings_file import render_settings_file
    from hosts.composition.load_settings import (
        list_settings_named_by_environment,
        load_settings_with_environment,
    )
    from service_core.kernel.errors import StartupError

    named = list_settings_named_by_environment()
    try:
        text = (
            template.read_text(encoding="utf-8")
            if template is not None and not named
            else render_settings_file(load_settings_with_environment(template), named)
        )
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise StartupError(
            f"{file} exists already and is left as it is. Choose another folder, or run "
            f"`touchpoint serve --config {file}` to use this one."
        ) from None
    except OSError as fault:
        raise StartupError(f"{file} cannot be written: {fault.strerror}. Choose another folder.") from None


async def _create_first_workspace(
    file: Path, name: str, timezone: str, currency: str, domain: str | None
) -> "CreatedWorkspace":
    from hosts.cli.deployment import load_and_compose_service
    from service_core.access.api_keys import create_workspace_with_keys
    from service_core.kernel.clock import system_clock

    async with load_and_compose_service(file) as service:
        return await create_workspace_with_keys(
            service.ports.workspace.credentials,
            system_clock(),
            name=name,
            timezone=timezone,
            currency=currency,
            domain=domain,
        )


def _deployment_to_json(created: "CreatedWorkspace", file: Path) -> dict[str, str]:
    return {
        "workspace_id": created.workspace.public_id,
        "write_key": created.write_key.secret,
        "agent_key": created.agent_key.secret,
        "config": str(file.resolve()),
    }


def _print_new_workspace_keys(created: "CreatedWorkspace", file: Path) -> None:
    console = output_console()
    console.print(
        f"{created.workspace.name} is ready in {file.parent}.", style="bold", soft_wrap=True, markup=False
    )
    for label, value in (
        ("Workspace", created.workspace.public_id),
        ("Write key", f"{created.write_key.secret}   sends events"),
        ("Agent key", f"{created.agent_key.secret}   reads"),
    ):
        console.print(f"  {label:<10} {value}", soft_wrap=True, markup=False)
    console.print("Copy the keys now; you won't see them again.", style="yellow")
