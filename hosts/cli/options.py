"""Options that several commands share: the settings file, the workspace, the console."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from rich.console import Console

_UNWRAPPED_WIDTH: Final = 10_000
"""Width of the output without a terminal, in columns."""

SETTINGS_FILE: Final = "touchpoint.toml"

ConfigFile = Annotated[
    Path,
    typer.Option(
        "--config", envvar="TOUCHPOINT_CONFIG", metavar="FILE", help="Settings file of the deployment."
    ),
]
"""``--config FILE``; every command that works on a deployment takes it."""

Template = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Settings file to start from; copied. [default: embedded stores]",
    ),
]
"""``--config FILE`` of the commands that make a deployment."""

DEFAULT_CONFIG: Final = Path(SETTINGS_FILE)

WorkspaceId = Annotated[
    str | None,
    typer.Option("--workspace", metavar="PUBLIC_ID", help="Workspace; required when there are several."),
]

OptionalWorkspace = Annotated[
    str | None,
    typer.Option("--workspace", metavar="PUBLIC_ID", help="Only this workspace. [default: all]"),
]
"""``--workspace PUBLIC_ID`` of the commands that work on every workspace."""


def _require_http_site(address: str) -> str:
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise typer.BadParameter(f"{address}: write scheme and host, as in https://shop.example")
    return address


Site = Annotated[
    str,
    typer.Option(
        metavar="URL", callback=_require_http_site, help="Scheme and host the logged paths belong to."
    ),
]
"""``--site URL`` of the commands that read access logs, which do not name it."""

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def output_console() -> "Console":
    """Returns the console for results; output for another program is neither folded nor cut."""
    from os import environ
    from sys import stdout

    from hosts.cli.terminal import ControlCharacterStrippingConsole

    is_read = not (stdout.isatty() or environ.get("COLUMNS"))
    return ControlCharacterStrippingConsole(highlight=False, width=_UNWRAPPED_WIDTH if is_read else None)


def error_console() -> "Console":
    """Returns the console for errors."""
    from hosts.cli.terminal import ControlCharacterStrippingConsole

    return ControlCharacterStrippingConsole(stderr=True, highlight=False)
