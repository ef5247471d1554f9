"""Names the settings file and the workspace store that a command has changed."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

_Command = TypeVar("_Command", bound=Callable[..., None])

NAMES_SETTINGS: Final = "names_settings"
"""Attribute of the commands that name their settings."""


def print_settings_after_change(command: _Command) -> _Command:
    """Returns a command that names its settings on standard error after it succeeded, except with ``--json``."""

    @wraps(command)
    def run_and_print_settings(**options: Any) -> None:
        command(**options)
        if not options.get("as_json") and not options.get("dry_run"):
            _print_settings(options["config"])

    setattr(run_and_print_settings, NAMES_SETTINGS, True)
    return run_and_print_settings  # type: ignore[return-value]  # the wrapper has the signature of the command


def _print_settings(config: Path) -> None:
    from hosts.cli.deployment import describe_workspace_store
    from hosts.cli.options import error_console

    error_console().print(
        f"Settings: {config.absolute()}. Workspace store: {describe_workspace_store(config)}.",
        soft_wrap=True, markup=False,
    )  # fmt: skip
