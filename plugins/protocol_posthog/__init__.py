"""The capture API of PostHog: ``/batch/``, ``/e/`` and ``/capture/``."""

from collections.abc import Iterable

from plugins.protocol_posthog.history import PostHogHistory
from plugins.protocol_posthog.protocol import PostHogProtocol
from service_core.plugin import ImportSource, IngestProtocol, hook


@hook
def ingest_protocols() -> Iterable[IngestProtocol]:
    """The protocol of PostHog."""
    return (PostHogProtocol(),)


@hook
def import_sources() -> Iterable[ImportSource]:
    """The history of the product."""
    return (PostHogHistory(),)
