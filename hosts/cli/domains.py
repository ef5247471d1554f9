"""``touchpoint domain``: the hosts that links of a workspace redirect from."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, error_console, output_console
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.models import Caller
    from service_core.changes.change_executor import ChangeExecutor
    from service_core.workspace.links.domains.models import LinkDomainClaim
    from service_core.workspace.links.domains.ports import TxtRecords

    DomainContext = tuple[Caller, ChangeExecutor, TxtRecords]

T = TypeVar("T")

app = typer.Typer(
    help="Add, verify, list and remove link domains.", no_args_is_help=True, rich_markup_mode=None
)

Host = Annotated[str, typer.Argument(metavar="HOST", help="Host name, such as go.example.com.")]


@app.command("add")
@print_settings_after_change
def add_pending_domain(
    host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG
) -> None:
    """Add a domain, and print the DNS record that proves it."""
    from hosts.composition.load_settings import load_settings_with_environment
    from service_core.workspace.links.domains.verification import plan_domain_claim
    from service_core.workspace.links.models import shared_link_domain

    shared = shared_link_domain(load_settings_with_environment(config))

    async def claim_domain(context: "DomainContext") -> "LinkDomainClaim":
        caller, change_executor, _ = context
        await change_executor.preview_or_apply_change(
            caller, plan_domain_claim(caller, host, shared), dry_run=False
        )
        return await _find_claim_or_raise_bad_parameter(context, host)

    added = _run_as_system_in_workspace(config, workspace, claim_domain)
    console = output_console()
    console.print(
        f"{added.name} is pending. Publish this record, then verify it:", soft_wrap=True, markup=False
    )
    console.print(added.zone_file_line, style="bold", soft_wrap=True, markup=False)


@app.command("verify")
@print_settings_after_change
def verify_domain_by_dns(
    host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG
) -> None:
    """Look for the record in the DNS, and take the domain into use."""
    from service_core.workspace.links.domains.verification import verify_domain

    async def verify_claim(context: "DomainContext") -> "LinkDomainClaim":
        caller, change_executor, records = context
        await verify_domain(
            caller,
            (await _find_claim_or_raise_bad_parameter(context, host)).id,
            change_executor,
            records,
            None,
        )
        return await _find_claim_or_raise_bad_parameter(context, host)

    _print_claim_status_and_missing_record(_run_as_system_in_workspace(config, workspace, verify_claim))


@app.command("list")
def list_domains(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """List the domains of a workspace."""
    domains = _run_as_system_in_workspace(config, workspace, _list_claims)
    if not domains:
        error_console().print("No domains. `touchpoint domain add HOST` adds one.", markup=False)
    for claim in domains:
        _print_claim_status_and_missing_record(claim)


@app.command("remove")
@print_settings_after_change
def remove_domain(host: Host, workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Remove a domain that no link uses."""
    from service_core.workspace.links.domains.verification import plan_removal_of_unused_domain

    async def remove_claim(context: "DomainContext") -> "LinkDomainClaim":
        caller, change_executor, _ = context
        claim = await _find_claim_or_raise_bad_parameter(context, host)
        await change_executor.preview_or_apply_change(
            caller, plan_removal_of_unused_domain(claim.id), dry_run=False
        )
        return claim

    removed = _run_as_system_in_workspace(config, workspace, remove_claim)
    output_console().print(f"Removed {removed.name}.", soft_wrap=True, markup=False)


def _run_as_system_in_workspace(
    config: "Path", workspace: str | None, domain_task: "Callable[[DomainContext], Awaitable[T]]"
) -> T:
    """Runs ``work`` as a system caller on the named or only workspace; the service may run meanwhile."""
    from hosts.cli.deployment import find_named_or_only_workspace, open_existing_deployment
    from service_core.access.internal_callers import build_command_line_caller
    from service_core.changes.change_executor import ChangeExecutor
    from service_core.workspace.links.domains.models import LINK_DOMAIN_TYPE

    async def open_store_and_run_task() -> T:
        async with open_existing_deployment(config) as ports:
            chosen_workspace = await find_named_or_only_workspace(ports.workspace.credentials, workspace)
            caller = build_command_line_caller(chosen_workspace, ports.clock())
            return await domain_task(
                (caller, ChangeExecutor(ports.workspace.transactions, [LINK_DOMAIN_TYPE]), ports.dns)
            )

    return asyncio.run(open_store_and_run_task())


async def _list_claims(context: "DomainContext") -> "list[LinkDomainClaim]":
    from service_core.workspace.links.domains.models import LinkDomainClaim

    caller, change_executor, _ = context
    async with change_executor.transactions.read(caller.workspace.id) as unit:
        return sorted(await unit.resources.list_all(LinkDomainClaim), key=lambda claim: claim.name)


async def _find_claim_or_raise_bad_parameter(context: "DomainContext", host: str) -> "LinkDomainClaim":
    from service_core.workspace.links.domains.models import normalize_public_host

    name = normalize_public_host(host)
    claim = next((claim for claim in await _list_claims(context) if claim.name == name), None)
    if claim is None:
        raise typer.BadParameter(
            f"the workspace has no domain {name}; `touchpoint domain list` shows its domains",
            param_hint="HOST",
        )
    return claim


def _print_claim_status_and_missing_record(claim: "LinkDomainClaim") -> None:
    state = (
        f"verified  domain_id {claim.link_domain.id}"
        if claim.is_verified
        else f"pending   {claim.zone_file_line}"
    )
    output_console().print(f"{claim.name}  {state}", soft_wrap=True, markup=False)
    if claim.missing_since is not None:
        since = f"gone since {claim.missing_since:%Y-%m-%d}: {claim.zone_file_line}"
        then = "; no new links until it is back" if claim.lapsed_at else ""
        output_console().print(f"    {since}{then}", style="yellow", soft_wrap=True, markup=False)
