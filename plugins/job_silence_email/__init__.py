"""Sends an e-mail when a workspace gets no events any more."""

from collections.abc import Iterable
from datetime import timedelta

from plugins.job_silence_email.settings import SilenceSettings
from plugins.job_silence_email.warning import warn_of_silence
from service_core.plugin import PluginData, PluginInfo, ScheduledJob, hook


@hook
def plugin_info() -> PluginInfo:
    """Returns the declaration of the plugin."""
    return PluginInfo(label="Silence warning", icon="!", settings=SilenceSettings, reads=(PluginData.EVENTS,))


@hook
def scheduled_jobs() -> Iterable[ScheduledJob]:
    """Returns the job that looks for silence every hour."""
    hour = timedelta(hours=1)
    return (ScheduledJob(id="silence", label="Silence warning", every=hour, run=warn_of_silence),)
