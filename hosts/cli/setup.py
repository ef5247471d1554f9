"""``touchpoint init``: a folder, its settings, its stores and a first workspace."""

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import SETTINGS_FILE, AsJson, Template, output

if TYPE_CHECKING:
    from service_core.access.keys import Founded


def _host(name: str | None) -> str | None:
    if name is not None and any(sign in name for sign in "/:@ "):
        raise typer.BadParameter(f"{name}: write the host alone, as in shop.example")
    return name


Name = Annotated[str, typer.Option(metavar="NAME", help="Name of the workspace.")]
Zone = Annotated[str, typer.Option(metavar="ZONE", help="IANA zone its days are counted in.")]
Currency = Annotated[str, typer.Option(metavar="CUR", help="Currency its money is told in.")]
Domain = Annotated[
    str | None,
    typer.Option(metavar="HOST", callback=_host, help="Its site; links from there are no referrers."),
]


def init(
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
    """
    file = folder / SETTINGS_FILE
    founded = found(file, config, name=name, timezone=timezone, currency=currency, domain=domain)
    show(founded, file, as_json=as_json)
    if not as_json:
        output().print(f"Start it: touchpoint serve --config {file}", soft_wrap=True, markup=False)


def show(founded: "Founded", file: Path, *, as_json: bool) -> None:
    """Tell a new workspace and its keys, this once."""
    if as_json:
        typer.echo(json.dumps(_answer(founded, file)))
    else:
        _show(founded, file)


def found(
    file: Path,
    template: Path | None = None,
    *,
    name: str,
    timezone: str,
    currency: str,
    domain: str | None,
) -> "Founded":
    """Write the settings file, create the stores and a first workspace.

    Args:
        file: the settings file to write; paths inside are relative to its folder.
        template: settings to copy; without it every store is an embedded one.
        name: of the workspace.
        timezone: IANA zone.
        currency: ISO 4217 code.
        domain: site of the workspace.

    Raises:
        StartupError: the file exists, or the deployment cannot be used.
    """
    _write_settings(file, template)
    try:
        return asyncio.run(_found(file, name, timezone, currency, domain))
    except BaseException:
        file.unlink()  # a second try starts where this one did
        raise


def _write_settings(file: Path, template: Path | None) -> None:
    from hosts.cli.settings_file import settings_text
    from service_core.kernel.errors import StartupError

    try:
        text = settings_text() if template is None else template.read_text(encoding="utf-8")
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


async def _found(file: Path, name: str, timezone: str, currency: str, domain: str | None) -> "Founded":
    from hosts.cli.deployment import service_of
    from service_core.access.keys import found_workspace
    from service_core.kernel.clock import system_clock

    async with service_of(file) as service:
        return await found_workspace(
            service.ports.workspace,
            system_clock(),
            name=name,
            timezone=timezone,
            currency=currency,
            domain=domain,
        )


def _answer(founded: "Founded", file: Path) -> dict[str, str]:
    return {
        "workspace_id": founded.workspace.public_id,
        "write_key": founded.write_key.secret,
        "agent_key": founded.agent_key.secret,
        "config": str(file.resolve()),
    }


def _show(founded: "Founded", file: Path) -> None:
    console = output()
    console.print(
        f"{founded.workspace.name} is ready in {file.parent}.", style="bold", soft_wrap=True, markup=False
    )
    for label, value in (
        ("Workspace", founded.workspace.public_id),
        ("Write key", f"{founded.write_key.secret}   sends events"),
        ("Agent key", f"{founded.agent_key.secret}   reads"),
    ):
        console.print(f"  {label:<10} {value}", soft_wrap=True, markup=False)
    console.print("The keys are shown this once; only their digests are kept.", style="yellow")
