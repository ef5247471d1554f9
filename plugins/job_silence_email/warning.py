"""Decides whether a workspace is silent, and says so."""

from datetime import timedelta
from typing import Final

from plugins.job_silence_email.settings import SilenceSettings
from service_core.plugin import Clock, EmailMessage, EmailSender, EventReader, Workspace

_HOUR: Final = timedelta(hours=1)
_REMINDERS: Final = 7
"""E-mails about one silence, one a day."""


async def warn_of_silence(
    *,
    workspace: Workspace,
    event_reader: EventReader,
    email_sender: EmailSender,
    clock: Clock,
    settings: SilenceSettings,
) -> None:
    """Sends an e-mail when the last event is as many hours old as the settings say, and each day for a week.

    Raises:
        EmailSenderUnavailable: the mail server did not take one; all are sent again.
    """
    if not settings.to or (settings.workspaces and workspace.public_id not in settings.workspaces):
        return
    times = await event_reader.first_and_last_event_time(workspace.id)
    if times is None:
        return
    due_at = clock().replace(
        minute=0, second=0, microsecond=0
    )  # runs begin some seconds later, not always as many
    hours = (due_at - times[1]) // _HOUR
    days, rest = divmod(hours - settings.hours, 24)
    if rest != 0 or not 0 <= days < _REMINDERS:
        return
    for address in settings.to:
        await email_sender.send(
            EmailMessage(
                address,
                f"No events for {hours} hours · {workspace.name}",
                f"The last event of {workspace.name} happened at {times[1].isoformat(timespec='seconds')}. Check the "
                "tracking code, the consent banner and the page Tracking.\n",
                id=f"{workspace.id}.silence.{times[1].timestamp():.0f}.{days}",
            )
        )
