"""What several commands share: the settings file, the workspace, where to print."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from rich.console import Console

SETTINGS_FILE: Final = "touchpoint.toml"

ConfigFile = Annotated[
    Path,
    typer.Option(
        "--config", envvar="TOUCHPOINT_CONFIG", metavar="FILE", help="Settings file of the deployment."
    ),
]
"""``--config FILE``; every command that works on a deployment takes it."""

DEFAULT_CONFIG: Final = Path(SETTINGS_FILE)

WorkspaceId = Annotated[
    str | None,
    typer.Option("--workspace", metavar="PUBLIC_ID", help="Which workspace; needed when there are several."),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def output() -> "Console":
    """Where results are printed."""
    from rich.console import Console

    return Console(highlight=False)


def complaints() -> "Console":
    """Where a command says why it could not do its work."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)
