"""Effects of writes that name an event which was never seen."""

from collections.abc import Sequence

from service_core.access.models import Caller
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.ports import EventReader, StoreUnavailable
from service_core.analytics.reads.event_name_check import read_event_name_warnings_and_suggestions
from service_core.changes.resource import State


async def describe_names_never_seen(
    caller: Caller,
    event_names: Sequence[str],
    *,
    field: str,
    event_reader: EventReader,
    providers: InstalledProviders,
) -> Sequence[State]:
    """Returns an effect for each event name not seen in 90 days; nothing if events cannot be read.

    Events that an installed revenue provider sends may come at any time.

    Args:
        caller: of the write.
        event_names: that the record has.
        field: of the effect that has the name.
        event_reader: of the events.
        providers: whose events are not warned of.
    """
    sent_by_providers = {name for id_ in providers.by_id for name in providers.event_names(id_)}
    names = [name for name in event_names if name not in sent_by_providers]
    try:
        checked = await read_event_name_warnings_and_suggestions(event_reader, caller, names)
    except StoreUnavailable:
        return ()
    effects = []
    for warning in checked.warnings:
        similar = [each.suggestion for each in checked.did_you_mean if each.value == warning.event_name]
        meant = f" Did you mean {', '.join(similar)}?" if similar else ""
        effects.append({"type": "never_seen", "summary": warning.message + meant, field: warning.event_name})
    return effects
