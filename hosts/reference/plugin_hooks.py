"""The hooks of plugins on the reference page: what each returns, its examples, and the built-in plugins that use it."""

import inspect
import re
from typing import Final, get_args

from hosts.plugin_author.kinds import KINDS
from hosts.plugin_author.scaffold import module_of_kind
from hosts.reference.markdown import format_code, render_section, render_table
from service_core.extensions.discovery import PluginOrigin
from service_core.extensions.hooks import Hooks
from service_core.extensions.plugin_values import VALUE_KINDS
from service_core.extensions.registry import collect_plugins_into_registry

_HOOK_IN_MODULE: Final = r"^@hook\ndef {hook}\("


def kinds_with_hook(hook: str) -> list[str]:
    """Returns the kinds of ``touchpoint plugin new`` whose example implements a hook."""
    pattern = re.compile(_HOOK_IN_MODULE.format(hook=hook), re.MULTILINE)
    return [kind for kind in KINDS if pattern.search(module_of_kind(kind))]


def render_hooks_section() -> str:
    """Returns the table of all hooks."""
    built_in = [
        plugin
        for plugin in collect_plugins_into_registry().loaded_plugins
        if plugin.installed.origin is PluginOrigin.BUILT_IN
    ]
    rows = (
        (
            format_code(hook),
            " or ".join(format_code(type_.__name__) for type_ in get_args(kind.type) or (kind.type,)),
            (inspect.getdoc(getattr(Hooks, hook)) or "").partition("\n")[0],
            ", ".join(map(format_code, kinds_with_hook(hook))),
            ", ".join(format_code(plugin.installed.name) for plugin in built_in if plugin.values.get(hook)),
        )
        for hook, kind in VALUE_KINDS.items()
    )
    text = (
        "`touchpoint plugin new KIND NAME` writes the example of a kind with its tests. All of them are run in the tests "
        "of Touchpoint. The code of built-in plugins is in `plugins/NAME`."
    )
    return render_section(
        "Hooks",
        f"{text}\n\n{render_table(('hook', 'returns', 'meaning', 'examples', 'built-in plugins'), rows)}",
    )
