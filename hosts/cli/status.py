"""``touchpoint status`` and ``touchpoint doctor``: how a deployment is, and what to do about it."""

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import typer

from hosts.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile, output_console

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hosts.deployment_status import DeploymentStatus
    from service_core.kernel.settings import Settings

_MIN_FREE_SHARE: Final = 0.05
_MIN_FREE_BYTES: Final = 2_000_000_000
_MAX_QUEUE_SECONDS: Final = 300
_MAX_SYNC_HOURS: Final = 24


def print_deployment_status(as_json: AsJson = False, config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Show the state of roles, queue, connections and disk.

    Roles are shown where `monitoring.listen` names an address of this machine. Reads the stores beside the
    running service and changes nothing.
    """
    status, _ = asyncio.run(_read_status(config))
    if as_json:
        typer.echo(json.dumps(_status_to_json(status, config), indent=2))
        return
    console = output_console()
    for label, value in _status_lines(status, config):
        console.print(f"{label:<12} {value}", soft_wrap=True, markup=False)


def diagnose_deployment(config: ConfigFile = DEFAULT_CONFIG) -> None:
    """Say what is wrong, and the command that mends it.

    Exits with code 1 when something is wrong. Changes nothing.
    """
    status, settings = asyncio.run(_read_status(config))
    findings = list(_find_problems(status, settings, config))
    console = output_console()
    for problem, remedy in findings:
        console.print(problem, style="bold red", soft_wrap=True, markup=False)
        console.print(f"    {remedy}", soft_wrap=True, markup=False)
    if findings:
        raise typer.Exit(1)
    console.print("Nothing is wrong.", style="green", markup=False)


async def _read_status(config: "Path") -> "tuple[DeploymentStatus, Settings]":
    from hosts.cli.deployment import load_ports_of_existing_deployment
    from hosts.composition.load_settings import load_settings_with_environment, settings_folder
    from hosts.deployment_status import read_deployment_status

    ports = load_ports_of_existing_deployment(config)
    settings = load_settings_with_environment(config)
    return await read_deployment_status(ports, settings, settings_folder(config)), settings


def _status_lines(status: "DeploymentStatus", config: "Path") -> "Iterator[tuple[str, str]]":
    yield "version", status.version
    yield "settings", str(config.absolute())
    yield from status.failing_adapters.items()
    ready = status.api_ready
    yield (
        "API",
        "does not answer" if ready is None else f"{ready.get('status', 'unknown')} ({_join_checks(ready)})",
    )
    for role, checks in (status.roles or {}).items():
        degraded = [check for check, state in checks.items() if state != "ok"]
        yield f"role {role}", f"degraded: {', '.join(degraded)}" if degraded else "ok"
    yield "queue", _describe_queue(status)
    yield "last event", str((ready or {}).get("newest_event_at") or "unknown")
    yield "workspaces", str(len(status.workspaces))
    for state in status.connections:
        one = state.connection
        synced = f"{one.last_synced_at:%Y-%m-%d %H:%M} UTC" if one.last_synced_at else "never"
        problem = f", {one.error}" if one.error else ""
        yield (
            "connection",
            f"{state.workspace} {one.provider}: {one.status.value}, last sync {synced}{problem}",
        )
    yield "disk", f"{status.free_bytes / 1e9:,.1f} GB of {status.total_bytes / 1e9:,.1f} GB free"


def _join_checks(ready: "Any") -> str:
    return ", ".join(f"{name} {state}" for name, state in ready.get("checks", {}).items())


def _describe_queue(status: "DeploymentStatus") -> str:
    if status.queued_events is None:
        return "cannot be read"
    if status.oldest_queued_at is None:
        return f"{status.queued_events} events wait"
    return f"{status.queued_events} events wait, the oldest since {status.oldest_queued_at:%Y-%m-%d %H:%M:%S} UTC"


def _status_to_json(status: "DeploymentStatus", config: "Path") -> dict[str, Any]:
    return {
        "version": status.version,
        "config": str(config.absolute()),
        "failing_settings": dict(status.failing_adapters),
        "api": status.api_ready,
        "roles": status.roles,
        "queued_events": status.queued_events,
        "oldest_queued_at": status.oldest_queued_at and status.oldest_queued_at.isoformat(),
        "newest_event_at": (status.api_ready or {}).get("newest_event_at"),
        "workspaces": len(status.workspaces),
        "connections": [
            {
                "workspace": state.workspace,
                "provider": state.connection.provider,
                "status": state.connection.status.value,
                "last_synced_at": state.connection.last_synced_at
                and state.connection.last_synced_at.isoformat(),
                "error": state.connection.error,
            }
            for state in status.connections
        ],
        "disk": {"free_bytes": status.free_bytes, "total_bytes": status.total_bytes},
    }


def _find_problems(
    status: "DeploymentStatus", settings: "Settings", config: "Path"
) -> "Iterator[tuple[str, str]]":
    """Yields each problem with the command or change that mends it, the most urgent first."""
    from hosts.startup_warnings import list_public_free_signup_warnings

    where = f"--config {config}"
    for setting, reason in status.failing_adapters.items():
        yield (
            f"{setting} cannot be used: {reason}",
            f"Correct it in {config}, then: touchpoint config check {where}",
        )
    if status.free_bytes < _MIN_FREE_BYTES or status.free_bytes < status.total_bytes * _MIN_FREE_SHARE:
        yield (
            f"The disk of {config.absolute().parent} has {status.free_bytes / 1e9:,.1f} GB left.",
            "Free space or enlarge the disk; a full disk refuses events.",
        )
    if status.api_ready is None:
        yield f"Nothing answers at {settings.http.api}.", f"touchpoint serve {where}"
    yield from _find_failing_checks_with_remedies(status, where)
    yield from _find_queue_problems(status, where)
    if not status.workspaces and not status.failing_adapters:
        yield (
            "There is no workspace, so every key is refused.",
            f"touchpoint workspace create --name NAME {where}",
        )
    for public_id in status.workspaces_without_owner:
        yield (
            f"Nobody owns the workspace {public_id}, so nobody can sign in to manage it.",
            f"touchpoint member add EMAIL --role owner --workspace {public_id} {where}",
        )
    for public_id in status.quarantined_workspaces:
        yield (
            f"Events of the workspace {public_id} could not be stored.",
            f"touchpoint quarantine list --workspace {public_id} {where}, then quarantine replay",
        )
    yield from _find_connection_problems(status, where)
    for warning in list_public_free_signup_warnings(settings):
        yield warning, f"Change it in {config}, and restart the service."


def _find_failing_checks_with_remedies(status: "DeploymentStatus", where: str) -> "Iterator[tuple[str, str]]":
    for name, state in (status.api_ready or {}).get("checks", {}).items():
        if state != "ok" and name != "processes":
            yield (
                f"The check {name} of the API is {state}.",
                f"touchpoint config check {where}, and read the log",
            )
    for role, checks in (status.roles or {}).items():
        if checks.get("alive", "ok") != "ok":
            yield (
                f"A process of the role {role} gave no sign of life for 30 seconds.",
                "Read its log, and restart the service.",
            )


def _find_queue_problems(status: "DeploymentStatus", where: str) -> "Iterator[tuple[str, str]]":
    from datetime import UTC, datetime

    if status.oldest_queued_at is None:
        return
    seconds = (datetime.now(UTC) - status.oldest_queued_at).total_seconds()
    if seconds > _MAX_QUEUE_SECONDS:
        yield (
            f"{status.queued_events} events wait, the oldest for {seconds / 60:,.0f} minutes.",
            f"touchpoint serve --role consumer {where}, if no consumer runs; else read the consumer's log",
        )


def _find_connection_problems(status: "DeploymentStatus", where: str) -> "Iterator[tuple[str, str]]":
    from datetime import UTC, datetime, timedelta

    late = datetime.now(UTC) - timedelta(hours=_MAX_SYNC_HOURS)
    for state in status.connections:
        one, options = state.connection, f"--workspace {state.workspace} {where}"
        if one.has_failed:
            yield (
                f"The connection {one.provider} of {state.workspace} is {one.status.value}: {one.error or 'no reason given'}.",
                f"touchpoint connection add {one.provider} --secret NAME {options}",
            )
        elif one.is_connected and one.last_synced_at is not None and one.last_synced_at < late:
            sync = "ads" if one.kind.value == "ads" else "revenue"
            yield (
                f"The connection {one.provider} of {state.workspace} was last read on {one.last_synced_at:%Y-%m-%d}.",
                f"touchpoint {sync} sync {options}, and see that a scheduler runs",
            )
