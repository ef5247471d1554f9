"""Export jobs in the serving process: ``exports.queue = "inline://"``."""

from collections.abc import Iterable

from plugins.jobs_inline.settings import InlineSettings
from service_core.plugin import Adapter, JobQueue, PluginInfo, hook


def _open(settings: InlineSettings) -> JobQueue:
    from plugins.jobs_inline.adapter import InlineJobs

    return InlineJobs(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Jobs in the service", icon="J")


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default."""
    return (
        Adapter("jobs", "inline", _open, InlineSettings, "Export jobs done by the serving process itself."),
    )
