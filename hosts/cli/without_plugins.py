"""``--without-plugin NAME``: leaves a plugin out of one command and of its subprocesses."""

import os
from collections.abc import Sequence
from typing import Any


def leave_out_plugins_until_close(context: Any, names: Sequence[str]) -> None:
    """Adds names to the plugins that are left out, until the command ends.

    Args:
        context: context of the command.
        names: names of plugins.
    """
    from hosts.composition.plugin_selection import WITHOUT_PLUGINS_VARIABLE

    before = os.environ.get(WITHOUT_PLUGINS_VARIABLE)
    os.environ[WITHOUT_PLUGINS_VARIABLE] = ",".join([*filter(None, [before]), *names])

    def restore_environment() -> None:
        if before is None:
            del os.environ[WITHOUT_PLUGINS_VARIABLE]
        else:
            os.environ[WITHOUT_PLUGINS_VARIABLE] = before

    context.call_on_close(restore_environment)
