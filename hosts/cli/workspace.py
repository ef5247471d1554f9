"""``touchpoint workspace``: another workspace, and the rules one follows in its numbers."""

import asyncio
import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, WorkspaceId
from hosts.cli.setup import Currency, Domain, Name, Zone
from hosts.cli.setup import show as tell

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.access.keys import Founded
    from service_core.access.model import Workspace
    from service_core.access.rules import OwnChannel, Rules

app = typer.Typer(
    help="Make a workspace; show and set its own rules.", no_args_is_help=True, rich_markup_mode=None
)


@app.command()
def create(
    name: Name,
    timezone: Zone = "UTC",
    currency: Currency = "USD",
    domain: Domain = None,
    as_json: AsJson = False,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Make a workspace in a deployment that is there.

    Shows its write key and its Agent key this once; the service may be running.
    """
    from hosts.cli.deployment import directory_of
    from service_core.access.keys import found_workspace
    from service_core.kernel.clock import system_clock

    async def made() -> "Founded":
        async with directory_of(config) as directory:
            return await found_workspace(
                directory, system_clock(), name=name, timezone=timezone, currency=currency, domain=domain
            )

    tell(asyncio.run(made()), config, as_json=as_json)


@app.command()
def show(workspace: WorkspaceId = None, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Print the rules of a workspace as JSON.

    What is null follows the rule of the house.
    """
    from hosts.cli.deployment import chosen, directory_of

    async def found() -> "Workspace":
        async with directory_of(config) as directory:
            return await chosen(directory, workspace)

    _print(asyncio.run(found()))


@app.command("set")
def change(
    conversion: Annotated[
        list[str] | None,
        typer.Option(metavar="EVENT", help="Event that converts, in place of the usual; repeat for several."),
    ] = None,
    any_revenue: Annotated[
        bool | None,
        typer.Option(
            "--any-revenue/--no-any-revenue", help="Whether every event with revenue converts, too."
        ),
    ] = None,
    channel: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE",
            help="Own channel, such as 'custom:crm source=news* medium=email'; repeat for several, in order.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="ID", help="Attribution model by default.")] = None,
    window_days: Annotated[
        int | None, typer.Option(metavar="N", help="Days in which a touch counts, by default.")
    ] = None,
    usual: Annotated[bool, typer.Option("--usual", help="Begin with the rules of the house.")] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Change the rules of a workspace and print them.

    What is not named stays.
    Conversions and attribution apply to all history at once, channels to events from now on.
    """
    sent: dict[str, Any] = {
        "conversions": None if conversion is None else frozenset(conversion),
        "any_revenue": any_revenue,
        "channels": None if channel is None else tuple(map(_channel, channel)),
        "model": model,
        "window_days": window_days,
    }
    named = {name: value for name, value in sent.items() if value is not None}
    _print(asyncio.run(_changed(config, workspace, named, usual=usual)))


async def _changed(
    config: "Path", public_id: str | None, named: dict[str, Any], *, usual: bool
) -> "Workspace":
    from hosts.cli.deployment import chosen, directory_of
    from hosts.composition.compose import installed
    from service_core.access.rules import Rules, checked
    from service_core.insight.attribution.choose import check_default

    async with directory_of(config) as directory:
        before = await chosen(directory, public_id)
        rules = checked(replace(Rules() if usual else before.rules, **named))
        if rules.model is not None:
            check_default(installed().models, rules.model)
        after = replace(before, rules=rules)
        await directory.save_workspace(after)
        return after


def _channel(rule: str) -> "OwnChannel":
    """``custom:crm source=news* "campaign=spring sale"``."""
    from service_core.access.rules import OwnChannel

    try:
        id_, *conditions = shlex.split(rule)
        return OwnChannel(id_, **dict(condition.split("=", 1) for condition in conditions))
    except (ValueError, TypeError):
        raise typer.BadParameter(
            f"{rule!r} does not read like 'custom:crm source=news* medium=email campaign=spring*'",
            param_hint="--channel",
        ) from None


def _print(workspace: "Workspace") -> None:
    typer.echo(json.dumps({"workspace": workspace.public_id, **_shown(workspace.rules)}, indent=2))


def _shown(rules: "Rules") -> dict[str, Any]:
    return {
        "conversions": None if rules.conversions is None else sorted(rules.conversions),
        "any_revenue": rules.any_revenue,
        "channels": [{"id": channel.id, **channel.conditions} for channel in rules.channels],
        "model": rules.model,
        "window_days": rules.window_days,
    }
