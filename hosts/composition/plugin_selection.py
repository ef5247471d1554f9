"""The plugins that a process of a deployment loads, by its settings, its command line and its environment."""

import os
from pathlib import Path
from typing import Final

from service_core.extensions.discovery import PluginSelection
from service_core.kernel.errors import StartupError
from service_core.kernel.settings import PluginsSettings

LEAVING_OUT_FAULTY_PLUGINS: Final = PluginSelection(leave_out_faulty=True)
"""Every installed plugin that can be used."""

WITHOUT_PLUGINS_VARIABLE: Final = "TOUCHPOINT_WITHOUT_PLUGINS"
"""Environment variable with the names of ``--without-plugin``, separated by commas; subprocesses inherit it."""


def select_plugins(
    settings: PluginsSettings, settings_folder: Path, *, leave_out_faulty: bool = False
) -> PluginSelection:
    """Returns the plugins that the settings and ``--without-plugin`` leave.

    Args:
        settings: the section ``plugins``.
        settings_folder: what a relative plugin folder is relative to.
        leave_out_faulty: whether faulty plugins are left out, instead of stopping the start.

    Raises:
        StartupError: the plugin folder does not exist.
    """
    disabled = frozenset(settings.disabled) | names_without_plugin()
    folder = settings_folder / settings.folder if settings.folder else None
    if folder is not None and not folder.is_dir():
        raise StartupError(
            f"plugins.folder names {folder}, which is no folder. Make it, or correct the setting."
        )
    allowed = None if settings.allowed is None else frozenset(settings.allowed.items())
    return PluginSelection(disabled, folder, leave_out_faulty, allowed)


def names_without_plugin() -> frozenset[str]:
    """Returns the names of ``--without-plugin`` of this command."""
    names = os.environ.get(WITHOUT_PLUGINS_VARIABLE, "").split(",")
    return frozenset(name.strip() for name in names if name.strip())
