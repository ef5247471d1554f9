"""Mail to people about their account: the link to choose a password, and a new passkey."""

from datetime import datetime
from typing import Final

from service_core.access.mail import Mail, Message
from service_core.access.members.model import LINK_LIFETIME, Account, Link, Purpose
from service_core.access.members.ports import Accounts
from service_core.kernel.ids import digest, new_token

PASSWORD_PAGE: Final = "password"  # noqa: S105 - a path
INVITATION_PAGE: Final = "invitation"
ACCOUNT_PAGE: Final = "account"


async def send_password_link(
    accounts: Accounts, mail: Mail, account: Account, *, web_url: str, now: datetime, reason: str
) -> None:
    """Mail a link to choose a password; it works once, for 24 hours.

    Args:
        accounts: where the digest of the link is kept.
        mail: how it leaves.
        account: whose password; its address is proved by the link.
        web_url: address of the web application.
        now: the present.
        reason: first sentence of the mail.

    Raises:
        MailDown: it was not sent.
    """
    token = new_token()
    await accounts.save_link(Link(account.id, Purpose.PASSWORD, now + LINK_LIFETIME), digest(token))
    text = f"{reason}\n\nChoose a password within 24 hours:\n{web_url}/{PASSWORD_PAGE}?token={token}\n"
    await mail.send(Message(account.email, "Choose your password", text))


async def send_passkey_notice(mail: Mail, account: Account, *, web_url: str) -> None:
    """Tell somebody of a new passkey, in case it was not they who added it.

    Raises:
        MailDown: it was not sent.
    """
    text = (
        "A passkey was added to your account. It signs in without your password.\n\n"
        f"If it was not you, remove it and choose another password:\n{web_url}/{ACCOUNT_PAGE}\n"
    )
    await mail.send(Message(account.email, "A passkey was added to your account", text))
