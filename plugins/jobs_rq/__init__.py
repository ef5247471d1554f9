"""Export jobs in worker processes on any machine: ``exports.queue = "redis://host:6379/0"``."""

from collections.abc import Iterable

from plugins.jobs_rq.settings import RqSettings
from service_core.plugin import Adapter, JobQueue, PluginInfo, hook


def _open(settings: RqSettings) -> JobQueue:
    from plugins.jobs_rq.adapter import RqJobs

    return RqJobs(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Jobs by RQ", icon="J")


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapters for several machines, plain and over TLS."""
    summary = "Export jobs done by worker processes, woken by RQ over Redis or Valkey."
    return [Adapter("jobs", scheme, _open, RqSettings, summary) for scheme in ("redis", "rediss")]
