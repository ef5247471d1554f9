"""``touchpoint domain``: the hosts that links of a workspace redirect from."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, complaints, output

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.model import Caller
    from service_core.changes.write import Writes
    from service_core.workspace.links.domains.model import DomainClaim
    from service_core.workspace.links.domains.ports import TextRecords

    Desk = tuple[Caller, Writes, TextRecords]

T = TypeVar("T")

app = typer.Typer(
    help="Add, verify, list and remove link domains.", no_args_is_help=True, rich_markup_mode=None
)

Host = Annotated[str, typer.Argument(metavar="HOST", help="Host name, such as go.example.com.")]


@app.command()
def add(host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Add a domain, and print the DNS record that proves it."""
    from hosts.composition.load import load_settings
    from service_core.workspace.links.domains.plan import claim
    from service_core.workspace.links.resource import domain_of

    shared = domain_of(load_settings(config))

    async def work(desk: "Desk") -> "DomainClaim":
        who, writes, _ = desk
        await writes.run(who, claim(who, host, shared), dry_run=False)
        return await _named(desk, host)

    added = _within(config, workspace, work)
    console = output()
    console.print(
        f"{added.name} is pending. Publish this record, then verify it:", soft_wrap=True, markup=False
    )
    console.print(added.line, style="bold", soft_wrap=True, markup=False)


@app.command()
def verify(host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Look for the record in the DNS, and take the domain into use."""
    from service_core.workspace.links.domains.plan import prove

    async def work(desk: "Desk") -> "DomainClaim":
        who, writes, records = desk
        await prove(who, (await _named(desk, host)).id, writes, records, None)
        return await _named(desk, host)

    _tell(_within(config, workspace, work))


@app.command("list")
def listing(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List the domains of a workspace."""
    domains = _within(config, workspace, _every)
    if not domains:
        complaints().print("No domains. `touchpoint domain add HOST` adds one.", markup=False)
    for found in domains:
        _tell(found)


@app.command()
def remove(host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Remove a domain that no link stands on."""
    from service_core.workspace.links.domains.plan import removal

    async def work(desk: "Desk") -> "DomainClaim":
        who, writes, _ = desk
        found = await _named(desk, host)
        await writes.run(who, removal(found.id), dry_run=False)
        return found

    gone = _within(config, workspace, work)
    output().print(f"{gone.name} is removed.", soft_wrap=True, markup=False)


def _within(config: "Path", workspace: str | None, work: "Callable[[Desk], Awaitable[T]]") -> T:
    """Run ``work`` in the chosen workspace, as whoever runs the deployment; the service may run meanwhile."""
    from dataclasses import replace

    from hosts.cli.deployment import chosen, ports_of
    from hosts.composition.ports import running
    from service_core.access.reader import reader_of
    from service_core.changes.write import Writes
    from service_core.workspace.links.domains.resource import DOMAIN_KIND

    async def run() -> T:
        ports = ports_of(config)
        async with running([ports.workspace]):
            owner = await chosen(ports.workspace, workspace)
            who = replace(reader_of(owner, ports.clock(), "Command line"), is_system=True)
            return await work((who, Writes(ports.workspace, [DOMAIN_KIND]), ports.dns))

    return asyncio.run(run())


async def _every(desk: "Desk") -> "list[DomainClaim]":
    from service_core.workspace.links.domains.model import DomainClaim

    who, writes, _ = desk
    async with writes.units.look(who.workspace.id) as unit:
        return sorted(await unit.resources.every(DomainClaim), key=lambda one: one.name)


async def _named(desk: "Desk", host: str) -> "DomainClaim":
    from service_core.workspace.links.domains.model import host_of

    name = host_of(host)
    found = next((one for one in await _every(desk) if one.name == name), None)
    if found is None:
        raise typer.BadParameter(
            f"the workspace has no domain {name}; `touchpoint domain list` shows its domains",
            param_hint="HOST",
        )
    return found


def _tell(one: "DomainClaim") -> None:
    state = f"verified  domain_id {one.domain.id}" if one.is_verified else f"pending   {one.line}"
    output().print(f"{one.name}  {state}", soft_wrap=True, markup=False)
    if one.missing_since is not None:
        since = f"gone since {one.missing_since:%Y-%m-%d}: {one.line}"
        then = "; no new links until it is back" if one.lapsed_at else ""
        output().print(f"    {since}{then}", style="yellow", soft_wrap=True, markup=False)
