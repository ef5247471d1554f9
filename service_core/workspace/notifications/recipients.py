"""Recipients of e-mails: members of the workspace, and addresses that their owners have confirmed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from uuid import UUID

from service_core.access.email_addresses import normalize_or_reject_email
from service_core.access.members.ports import Accounts, Members
from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.workspace.notifications.ports import EmailConsent, EmailConsents

MAX_RECIPIENTS: Final = 20


class RecipientStatus(StrEnum):
    """Whether an address gets e-mails."""

    MEMBER = "member"
    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    UNSUBSCRIBED = "unsubscribed"

    @property
    def is_sendable(self) -> bool:
        """Whether e-mails are sent to the address."""
        return self in (RecipientStatus.MEMBER, RecipientStatus.CONFIRMED)


@dataclass(frozen=True, slots=True)
class RecipientStatuses:
    """Returns which recipients of a source get e-mails.

    Attributes:
        members, accounts: the members of workspaces.
        consents: what people answered.
    """

    members: Members
    accounts: Accounts
    consents: EmailConsents

    async def get_statuses(
        self, workspace_id: UUID, source_id: UUID, recipients: Sequence[str]
    ) -> Mapping[str, RecipientStatus]:
        """Returns the status of each address."""
        member_emails = await self.get_member_emails(workspace_id)
        consents = await self.consents.get_consents(source_id)
        return {email: _recipient_status(email, member_emails, consents) for email in recipients}

    async def get_member_emails(self, workspace_id: UUID) -> frozenset[str]:
        """Returns the addresses of the members of a workspace."""
        accounts = [
            await self.accounts.get_account(member.account_id)
            for member in await self.members.list_members(workspace_id)
        ]
        return frozenset(account.email for account in accounts if account is not None)


def _recipient_status(
    email: str, member_emails: frozenset[str], consents: Mapping[str, EmailConsent]
) -> RecipientStatus:
    consent = consents.get(email)
    if consent is not None and consent.unsubscribed_at is not None:
        return RecipientStatus.UNSUBSCRIBED
    if email in member_emails:
        return RecipientStatus.MEMBER
    is_confirmed = consent is not None and consent.confirmed_at is not None
    return RecipientStatus.CONFIRMED if is_confirmed else RecipientStatus.UNCONFIRMED


def normalize_recipients(
    recipients: Sequence[str], field: str, *, may_be_empty: bool = False
) -> tuple[str, ...]:
    """Returns the addresses in lower case, each once.

    Raises:
        Unprocessable: ``invalid_field``: none or too many, or a text that is no address.
    """
    emails = []
    for position, text in enumerate(recipients):
        try:
            emails.append(normalize_or_reject_email(text))
        except BadRequest as refusal:
            raise Unprocessable(refusal.message, "invalid_field", field=f"{field}[{position}]") from None
    unique = tuple(dict.fromkeys(emails))
    if len(unique) > MAX_RECIPIENTS or not (unique or may_be_empty):
        count = f"At most {MAX_RECIPIENTS}" if may_be_empty else f"1 to {MAX_RECIPIENTS}"
        raise Unprocessable(f"{count} recipients", "invalid_field", field=field)
    return unique
