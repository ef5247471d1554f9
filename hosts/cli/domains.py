"""``touchpoint domain``: the hosts that links of a workspace redirect from."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, error_console, output_console

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.models import Caller
    from service_core.changes.change_executor import ChangeExecutor
    from service_core.workspace.links.domains.models import LinkDomainClaim
    from service_core.workspace.links.domains.ports import TxtRecords

    Desk = tuple[Caller, ChangeExecutor, TxtRecords]

T = TypeVar("T")

app = typer.Typer(
    help="Add, verify, list and remove link domains.", no_args_is_help=True, rich_markup_mode=None
)

Host = Annotated[str, typer.Argument(metavar="HOST", help="Host name, such as go.example.com.")]


@app.command()
def add(host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Add a domain, and print the DNS record that proves it."""
    from hosts.composition.load_settings import load_settings
    from service_core.workspace.links.domains.verification import plan_domain_claim
    from service_core.workspace.links.models import shared_link_domain

    shared = shared_link_domain(load_settings(config))

    async def work(desk: "Desk") -> "LinkDomainClaim":
        caller, writes, _ = desk
        await writes.execute(caller, plan_domain_claim(caller, host, shared), dry_run=False)
        return await _find_claim(desk, host)

    added = _run_in_workspace(config, workspace, work)
    console = output_console()
    console.print(
        f"{added.name} is pending. Publish this record, then verify it:", soft_wrap=True, markup=False
    )
    console.print(added.zone_file_line, style="bold", soft_wrap=True, markup=False)


@app.command()
def verify(host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Look for the record in the DNS, and take the domain into use."""
    from service_core.workspace.links.domains.verification import verify_domain

    async def work(desk: "Desk") -> "LinkDomainClaim":
        caller, writes, records = desk
        await verify_domain(caller, (await _find_claim(desk, host)).id, writes, records, None)
        return await _find_claim(desk, host)

    _print_claim(_run_in_workspace(config, workspace, work))


@app.command("list")
def list_domains(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List the domains of a workspace."""
    domains = _run_in_workspace(config, workspace, _list_claims)
    if not domains:
        error_console().print("No domains. `touchpoint domain add HOST` adds one.", markup=False)
    for found in domains:
        _print_claim(found)


@app.command()
def remove(host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Remove a domain that no link stands on."""
    from service_core.workspace.links.domains.verification import plan_domain_removal

    async def work(desk: "Desk") -> "LinkDomainClaim":
        caller, writes, _ = desk
        found = await _find_claim(desk, host)
        await writes.execute(caller, plan_domain_removal(found.id), dry_run=False)
        return found

    gone = _run_in_workspace(config, workspace, work)
    output_console().print(f"Removed {gone.name}.", soft_wrap=True, markup=False)


def _run_in_workspace(config: "Path", workspace: str | None, work: "Callable[[Desk], Awaitable[T]]") -> T:
    """Run ``work`` in the chosen workspace, as whoever runs the deployment; the service may run meanwhile."""
    from dataclasses import replace

    from hosts.cli.deployment import find_workspace, load_ports
    from hosts.composition.ports import start_adapters
    from service_core.access.internal_callers import read_only_caller
    from service_core.changes.change_executor import ChangeExecutor
    from service_core.workspace.links.domains.models import LINK_DOMAIN_TYPE

    async def run() -> T:
        ports = load_ports(config)
        async with start_adapters([ports.workspace]):
            owner = await find_workspace(ports.workspace.credentials, workspace)
            caller = replace(read_only_caller(owner, ports.clock(), "Command line"), is_system=True)
            return await work(
                (caller, ChangeExecutor(ports.workspace.transactions, [LINK_DOMAIN_TYPE]), ports.dns)
            )

    return asyncio.run(run())


async def _list_claims(desk: "Desk") -> "list[LinkDomainClaim]":
    from service_core.workspace.links.domains.models import LinkDomainClaim

    caller, writes, _ = desk
    async with writes.transactions.read(caller.workspace.id) as unit:
        return sorted(await unit.resources.list_all(LinkDomainClaim), key=lambda one: one.name)


async def _find_claim(desk: "Desk", host: str) -> "LinkDomainClaim":
    from service_core.workspace.links.domains.models import normalize_host

    name = normalize_host(host)
    found = next((one for one in await _list_claims(desk) if one.name == name), None)
    if found is None:
        raise typer.BadParameter(
            f"the workspace has no domain {name}; `touchpoint domain list` shows its domains",
            param_hint="HOST",
        )
    return found


def _print_claim(one: "LinkDomainClaim") -> None:
    state = (
        f"verified  domain_id {one.link_domain.id}" if one.is_verified else f"pending   {one.zone_file_line}"
    )
    output_console().print(f"{one.name}  {state}", soft_wrap=True, markup=False)
    if one.missing_since is not None:
        since = f"gone since {one.missing_since:%Y-%m-%d}: {one.zone_file_line}"
        then = "; no new links until it is back" if one.lapsed_at else ""
        output_console().print(f"    {since}{then}", style="yellow", soft_wrap=True, markup=False)
