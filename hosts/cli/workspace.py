"""``touchpoint workspace``: creates workspaces and changes how their events are counted."""

import asyncio
import json
import re
import shlex
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from hosts.cli.init import Currency, Domain, Name, Zone, print_new_workspace
from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, WorkspaceId
from hosts.cli.reenrichment import reenrich_stored_events
from hosts.cli.settings_used import print_settings_after_change

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.api_keys import CreatedWorkspace
    from service_core.access.models import Workspace
    from service_core.extensions.workspace_store import WorkspaceStore
    from service_core.workspace.settings.fields import ChannelRule, PaymentFee
    from service_core.workspace.settings.models import WorkspaceSettingsRecord
    from service_core.workspace.settings.schemas import WorkspacePatch

_FEE_RATE: Final = re.compile(
    r"(?P<provider>[a-z][a-z0-9_]*)\s+(?P<percent>\d{1,3}(?:\.\d{1,4})?)%"
    r"(?:\s+(?P<fixed>\d{1,6}(?:\.\d{1,3})?)\s+(?P<currency>[A-Za-z]{3}))?"
)
_IDENTITY_FIELDS: Final = ("name", "timezone", "currency", "domain")
_MAX_EXPORTS: Final = 100_000
_MAX_IMPORTS: Final = 100_000
"""Export files live for seven days: a workspace has fewer."""

app = typer.Typer(
    help="Create and delete workspaces; show and change their settings.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("reenrich")(reenrich_stored_events)


@app.command("create")
@print_settings_after_change
def create_workspace_and_print_keys(
    name: Name,
    timezone: Zone = "UTC",
    currency: Currency = "USD",
    domain: Domain = None,
    as_json: AsJson = False,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Create a workspace in an existing deployment.

    Shows its write key and its Agent key this once; the service may be running.
    """
    from hosts.cli.deployment import open_workspace_store
    from service_core.access.api_keys import create_workspace_with_keys
    from service_core.kernel.clock import system_clock

    async def create_in_store() -> "CreatedWorkspace":
        async with open_workspace_store(config) as directory:
            return await create_workspace_with_keys(
                directory.credentials,
                system_clock(),
                name=name,
                timezone=timezone,
                currency=currency,
                domain=domain,
            )

    print_new_workspace(asyncio.run(create_in_store()), config, as_json=as_json)


@app.command("delete")
@print_settings_after_change
def delete_workspace_and_its_data(
    public_id: Annotated[
        str, typer.Argument(metavar="PUBLIC_ID", help="Workspace, as in `touchpoint status` and its keys.")
    ],
    is_confirmed: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Delete a workspace and all its data.

    This removes its events, keys, members, links, reports and export files.

    There is no undo. Backups keep it. An embedded event store belongs to one process: stop the service first.
    """
    from hosts.cli.options import output_console

    if not is_confirmed:
        typed = typer.prompt(f"Type {public_id} to delete the workspace and all of its data", err=True)
        if typed != public_id:
            raise typer.BadParameter("that is another id; nothing was deleted", param_hint="PUBLIC_ID")
    name, event_count = asyncio.run(_delete_workspace(config, public_id))
    output_console().print(
        f"{name} ({public_id}) is deleted, with {event_count:,} events. Backups that hold it keep it.",
        soft_wrap=True,
        markup=False,
    )


@app.command("show")
def print_workspace_settings(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Print the settings of a workspace as JSON.

    A setting that is null uses the built-in rule.
    """
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store

    async def load_settings() -> "tuple[Workspace, WorkspaceSettingsRecord]":
        async with open_workspace_store(config) as store:
            named = await find_named_or_only_workspace(store.credentials, workspace)
            return named, await _load_settings_record(store, named)

    _print_counting_settings(*asyncio.run(load_settings()))


@app.command("set")
@print_settings_after_change
def change_and_print_workspace_settings(
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the workspace.")] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Time zone of its days, such as Europe/Berlin.")
    ] = None,
    currency: Annotated[
        str | None, typer.Option(metavar="CODE", help="Currency of its reports, such as EUR.")
    ] = None,
    domain: Annotated[
        str | None, typer.Option(metavar="HOST", help="Its site, such as example.com; '' for none.")
    ] = None,
    conversion: Annotated[
        list[str] | None,
        typer.Option(metavar="EVENT", help="Conversion event, replacing the defaults; repeat for several."),
    ] = None,
    any_revenue: Annotated[
        bool | None,
        typer.Option(
            "--any-revenue/--no-any-revenue",
            help="Whether the amount of a custom event is revenue and makes it a conversion.",
        ),
    ] = None,
    revenue_event: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EVENT",
            help="Event whose amount is revenue, each one an order; repeat for several; '' for none.",
        ),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Custom channel, such as 'custom:crm source=news* medium=email'; repeat for several, in order.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="ID", help="Default attribution model.")] = None,
    window_days: Annotated[
        int | None, typer.Option(metavar="N", help="Default attribution window in days.")
    ] = None,
    event_retention_days: Annotated[
        int | None,
        typer.Option(metavar="N", help="Delete events after so many days; 0 keeps them without limit."),
    ] = None,
    fee: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RATE",
            help="Fee of payments whose provider reports none, such as 'stripe 2.9% 0.30 USD'; repeat for several "
            "providers or currencies; '' for none.",
        ),
    ] = None,
    from_builtin: Annotated[bool, typer.Option("--usual", help="Start from the built-in rules.")] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Change the settings of a workspace and print them.

    Options that are not given leave their setting as it is.
    Conversions and attribution apply to all history at once, channels to events from now on; `touchpoint workspace
    reenrich` applies them to stored events.
    """
    sent: dict[str, Any] = {
        "name": name,
        "timezone": timezone,
        "currency": currency,
        "domain": domain,
        "conversions": conversion,
        "any_revenue": any_revenue,
        "revenue_events": None if revenue_event is None else tuple(filter(None, revenue_event)),
        "channels": None if channel is None else tuple(map(_parse_custom_channel, channel)),
        "model": model,
        "window_days": window_days,
        "event_retention_days": event_retention_days,
        "fees": None if fee is None else tuple(map(_parse_fee_rate, filter(None, fee))),
    }
    named = {name: value for name, value in sent.items() if value is not None}
    if domain == "":
        named["domain"] = None
    if event_retention_days == 0:
        named["event_retention_days"] = None
    changed, record = asyncio.run(_change_settings(config, workspace, named, from_builtin=from_builtin))
    _print_counting_settings(changed, record, *(field for field in _IDENTITY_FIELDS if field in named))


async def _delete_workspace(config: "Path", public_id: str) -> tuple[str, int]:
    """Deletes a workspace and its data; returns its name and the number of its events.

    Everything is opened before the first deletion. The workspace goes before the last events and files of it, which may have
    been stored meanwhile.
    """
    from datetime import UTC, datetime

    from hosts.cli.deployment import find_named_or_only_workspace, open_existing_deployment
    from service_core.delivery.lake.write_lake import delete_lake

    async with open_existing_deployment(config, "queue", "events", "export_storage", "lake") as ports:
        workspace = await find_named_or_only_workspace(ports.workspace.credentials, public_id)
        end_of_time = datetime.max.replace(tzinfo=UTC)
        count = await ports.events.delete_events_before(workspace.id, end_of_time)
        for export in await ports.workspace.exports.list_exports(workspace.id, _MAX_EXPORTS):
            for name in export.file_names:
                await ports.export_storage.delete(name)
        for job in await ports.workspace.imports.list_imports(workspace.id, _MAX_IMPORTS):
            await ports.export_storage.delete(job.stored_name)
        if ports.lake is not None:
            await delete_lake(ports.lake, workspace)
        await ports.workspace.workspace_settings.delete_workspace(workspace.id)
        if ports.lake is not None:
            await delete_lake(ports.lake, workspace)
        count += await ports.events.delete_events_before(workspace.id, end_of_time)
        await ports.queue.rewrite_quarantined(
            lambda arrival: None if arrival.workspace_id == workspace.id else arrival
        )
    return workspace.name, count


async def _change_settings(
    config: "Path", public_id: str | None, changed_fields: dict[str, Any], *, from_builtin: bool
) -> "tuple[Workspace, WorkspaceSettingsRecord]":
    """Changes settings with an audit entry, as the web application and the API do; returns all of them."""
    from hosts.cli.deployment import (
        find_named_or_only_workspace,
        load_registry_of_usable_plugins,
        open_workspace_store,
    )
    from service_core.access.analytics_settings import AnalyticsSettings
    from service_core.access.internal_callers import build_command_line_caller
    from service_core.changes.change_executor import ChangeExecutor
    from service_core.kernel.clock import system_clock
    from service_core.workspace.settings.models import fields_that_change_counting
    from service_core.workspace.settings.resource import WORKSPACE_SETTINGS_TYPE, plan_settings_update
    from service_core.workspace.settings.schemas import WorkspacePatch

    initial_fields = fields_that_change_counting(AnalyticsSettings()) if from_builtin else {}
    patch = _validate_patch(WorkspacePatch, {**initial_fields, **changed_fields})
    async with open_workspace_store(config) as store:
        workspace = await find_named_or_only_workspace(store.credentials, public_id)
        caller = build_command_line_caller(workspace, system_clock())
        executor = ChangeExecutor(store.transactions, [WORKSPACE_SETTINGS_TYPE])
        plan = plan_settings_update(caller, patch, load_registry_of_usable_plugins(config).models)
        await executor.preview_or_apply_change(caller, plan, dry_run=False)
        return workspace, await _load_settings_record(store, workspace)


def _validate_patch(patch_model: "type[WorkspacePatch]", fields: dict[str, Any]) -> "WorkspacePatch":
    """Returns the patch; a value that its type does not allow is a wrong option."""
    from pydantic import ValidationError

    try:
        return patch_model.model_validate(fields)
    except ValidationError as refusal:
        fault = refusal.errors(include_url=False)[0]
        raise typer.BadParameter(fault["msg"], param_hint=f"--{fault['loc'][0]}") from None


async def _load_settings_record(store: "WorkspaceStore", workspace: "Workspace") -> "WorkspaceSettingsRecord":
    from service_core.workspace.settings.resource import load_settings_or_404

    async with store.transactions.read(workspace.id) as transaction:
        return await load_settings_or_404(transaction, workspace.id)


def _parse_custom_channel(rule: str) -> "ChannelRule":
    """``custom:crm source=news* "campaign=spring sale"``."""
    from service_core.workspace.settings.fields import ChannelRule

    try:
        id_, *conditions = shlex.split(rule)
        return ChannelRule(id=id_, **dict(condition.split("=", 1) for condition in conditions))
    except (ValueError, TypeError):
        raise typer.BadParameter(
            f"{rule!r} does not read like 'custom:crm source=news* medium=email campaign=spring*'",
            param_hint="--channel",
        ) from None


def _parse_fee_rate(text: str) -> "PaymentFee":
    """``stripe 2.9%``, or ``stripe 2.9% 0.30 USD``."""
    from service_core.workspace.settings.fields import PaymentFee

    parts = _FEE_RATE.fullmatch(text.strip())
    if parts is None:
        raise typer.BadParameter(
            f"{text!r} does not read like 'stripe 2.9%' or 'stripe 2.9% 0.30 USD'", param_hint="--fee"
        )
    return PaymentFee(
        provider=parts["provider"],
        percent=float(parts["percent"]),
        fixed=float(parts["fixed"] or 0),
        currency=parts["currency"] and parts["currency"].upper(),
    )


def _print_counting_settings(
    workspace: "Workspace", record: "WorkspaceSettingsRecord", *other_fields: str
) -> None:
    """Prints the settings that change how events are counted, and other fields by name, as JSON."""
    from service_core.workspace.settings.models import fields_that_change_counting

    settings = record.model_dump(
        mode="json", include={*fields_that_change_counting(workspace.rules), *other_fields}
    )
    settings["channels"] = [channel.model_dump(exclude_none=True) for channel in record.channels]
    typer.echo(json.dumps({"workspace": workspace.public_id, **settings}, indent=2))
