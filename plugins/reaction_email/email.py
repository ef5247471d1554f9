"""Writes and sends the e-mail about an event."""

from collections.abc import Iterator
from zoneinfo import ZoneInfo

from plugins.reaction_email.settings import EmailRule, EventEmailSettings
from service_core.plugin import EmailMessage, EmailSender, Event, Workspace

_MAX_VALUE_LENGTH = 500


async def send_event_email(
    *, workspace: Workspace, event: Event, email_sender: EmailSender, settings: EventEmailSettings
) -> None:
    """Sends the e-mails of the rules that an event fits; each address gets one.

    Raises:
        EmailSenderUnavailable: the mail server did not take one; all are sent again, with the same ids.
    """
    rule_by_address = {
        address: rule
        for rule in settings.rules
        if event.event_name in rule.events and rule.workspace in {"", workspace.public_id}
        for address in rule.to
    }
    for address, rule in rule_by_address.items():
        await email_sender.send(
            EmailMessage(
                address,
                f"{event.event_name} · {workspace.name}",
                "\n".join(_email_lines(workspace, event, rule)) + "\n",
                id=f"{workspace.id}.{event.seq}",
            )
        )


def _email_lines(workspace: Workspace, event: Event, rule: EmailRule) -> Iterator[str]:
    yield f"Event: {event.event_name}"
    yield f"Time: {event.timestamp.astimezone(ZoneInfo(workspace.timezone)).isoformat(timespec='seconds')}"
    if event.page_url:
        yield f"Page: {event.page_url}"
    for name in rule.properties:
        if (value := event.event_data.get(name)) is not None:
            yield f"{name}: {value}"[:_MAX_VALUE_LENGTH]
