"""Sends an e-mail for each event of some names."""

from collections.abc import Iterable

from plugins.reaction_email.email import send_event_email
from plugins.reaction_email.settings import EventEmailSettings
from service_core.plugin import EventReaction, PluginData, PluginInfo, hook


@hook
def plugin_info() -> PluginInfo:
    """Returns the declaration of the plugin."""
    return PluginInfo(
        label="Event e-mails",
        icon="✉",
        settings=EventEmailSettings,
        reads=(PluginData.EVENTS, PluginData.PERSONAL_DATA),
    )


@hook
def event_reactions() -> Iterable[EventReaction]:
    """Returns the reaction that sends e-mails."""
    names = EventEmailSettings.list_event_names
    return (EventReaction(id="email", label="Event e-mail", event_names=names, react=send_event_email),)
