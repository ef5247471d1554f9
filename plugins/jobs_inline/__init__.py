"""Export jobs in the serving process: ``exports.queue = "inline://"``."""

from collections.abc import Iterable

from plugins.jobs_inline.settings import InlineSettings
from service_core.plugin import Adapter, JobQueue, hook


def _open(settings: InlineSettings) -> JobQueue:
    from plugins.jobs_inline.adapter import InlineJobs

    return InlineJobs(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the embedded default."""
    return (
        Adapter("jobs", "inline", _open, InlineSettings, "Export jobs done by the serving process itself."),
    )
