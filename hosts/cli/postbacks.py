"""``touchpoint postbacks``: what became of the conversions that rules send to ad platforms."""

import asyncio
import json
from typing import TYPE_CHECKING, Annotated

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, WorkspaceId, output_console
from service_core.delivery.postbacks.postback import PostbackStatus

if TYPE_CHECKING:
    from pathlib import Path

    from service_core.delivery.postbacks.postback import Postback

app = typer.Typer(help="List conversions sent to ad platforms.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _postbacks_group() -> None:
    """Keep the name of the only command."""


@app.command("list")
def list_latest_postbacks(
    status: Annotated[PostbackStatus | None, typer.Option(help="Only this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, metavar="N", help="Maximum number.")] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per conversion, with what was sent, masked.")
    ] = False,
    workspace: WorkspaceId = None,
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """List conversions with their status and reason.

    The latest first.
    """
    postbacks = asyncio.run(_load_latest_postbacks(config, workspace, limit, status))
    if as_json:
        for postback in postbacks:
            typer.echo(json.dumps(_postback_without_personal_data_to_json(postback)))
    else:
        _print_postbacks(postbacks)


async def _load_latest_postbacks(
    config: "Path", public_id: str | None, limit: int, status: PostbackStatus | None
) -> "list[Postback]":
    from hosts.cli.deployment import find_named_or_only_workspace, open_workspace_store

    async with open_workspace_store(config) as store:
        owner = await find_named_or_only_workspace(store.credentials, public_id)
        return list(await store.postback_outbox.list_latest_postbacks(owner.id, limit, status))


def _postback_without_personal_data_to_json(postback: "Postback") -> dict[str, object]:
    """All of it but what it holds of a person."""
    from service_core.kernel.timestamps import format_timestamp

    instants = {"event_at", "created_at", "next_attempt_at", "sent_at", "done_at"}
    names = (
        "id", "rule_id", "event_id", "event_at", "platform", "account_id", "asset_id", "platform_event",
        "platform_event_id", "is_test", "status", "reason", "attempts", "next_attempt_at", "http_status",
        "error_code", "request_masked", "created_at", "sent_at", "done_at",
    )  # fmt: skip
    fields = {name: getattr(postback, name) for name in names}
    fields |= {name: format_timestamp(fields[name]) for name in instants if fields[name] is not None}
    return fields | {"id": str(postback.id), "rule_id": str(postback.rule_id)}


def _print_postbacks(postbacks: "list[Postback]") -> None:
    from rich.table import Table
    from rich.text import Text

    from service_core.kernel.timestamps import format_timestamp

    table = Table(box=None, padding=(0, 1))
    for heading in ("since", "to", "as", "id", "status", "why", "attempts", "next"):
        table.add_column(heading, overflow="fold")
    for postback in postbacks:
        cells = (
            format_timestamp(postback.created_at),
            f"{postback.platform} {postback.asset_id}",
            f"{postback.platform_event}{' (test)' if postback.is_test else ''}",
            postback.platform_event_id,
            postback.status.value,
            postback.reason or postback.error_code or "",
            str(postback.attempts),
            format_timestamp(postback.next_attempt_at) if postback.next_attempt_at else "",
        )
        table.add_row(*map(Text, cells))
    output_console().print(table if postbacks else "No rule has sent anything yet.")
