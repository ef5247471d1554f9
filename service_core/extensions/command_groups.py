"""Commands of plugins: a group under ``touchpoint NAME``."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from service_core.kernel.errors import StartupError

BUILT_IN_COMMANDS: Final = frozenset(
    {
        "ads",
        "backup",
        "config",
        "connection",
        "costs",
        "demo",
        "docs",
        "doctor",
        "domain",
        "fx",
        "import",
        "init",
        "key",
        "lake",
        "member",
        "move",
        "person",
        "plugin",
        "plugins",
        "postbacks",
        "quarantine",
        "query",
        "restore",
        "revenue",
        "serve",
        "status",
        "worker",
        "workspace",
    }
)
"""Names that no plugin can take."""

_NAME_PATTERN: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclass(frozen=True)
class CommandGroup:
    """Commands under ``touchpoint NAME``.

    Attributes:
        name: lower case, of letters, digits and hyphens; unique among all plugins, and none of `BUILT_IN_COMMANDS`.
        open: returns the `typer.Typer` with the commands, given the settings of the plugin (None if it declares no model).
            It is called when somebody enters the name, and never for other commands.
    """

    name: str
    open: Callable[[Any], Any]

    def __post_init__(self) -> None:
        """Checks the name.

        Raises:
            StartupError: it is malformed, or that of a built-in command.
        """
        if not _NAME_PATTERN.fullmatch(self.name):
            raise StartupError(f"The command {self.name!r} is not of lower case letters, digits and hyphens.")
        if self.name in BUILT_IN_COMMANDS:
            raise StartupError(f"The command {self.name!r} is built in. Choose another name.")
