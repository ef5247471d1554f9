"""E-mails about an account: the password link and the notice of a new passkey."""

from datetime import datetime
from typing import Final

from service_core.access.email_sender import EmailMessage, EmailSender
from service_core.access.members.models import PASSWORD_LINK_LIFETIME, Account, PasswordLink, Purpose
from service_core.access.members.ports import Accounts
from service_core.kernel.ids import new_token, sha256_hex

PASSWORD_PAGE_PATH: Final = "password"  # noqa: S105 - a path
INVITATION_PAGE_PATH: Final = "invitation"
ACCOUNT_PAGE_PATH: Final = "account"


async def save_and_send_password_link(
    accounts: Accounts,
    email_sender: EmailSender,
    account: Account,
    *,
    web_url: str,
    now: datetime,
    first_sentence: str,
) -> None:
    """Stores a password link and sends it. It works once, within 24 hours.

    Args:
        accounts: stores the digest of the link.
        email_sender: sends the e-mail.
        account: the account; following the link proves its address.
        web_url: URL of the web application.
        now: current time.
        first_sentence: first sentence of the e-mail.

    Raises:
        EmailSenderUnavailable: the e-mail was not sent.
    """
    token = new_token()
    await accounts.save_password_link(
        PasswordLink(account.id, Purpose.PASSWORD, now + PASSWORD_LINK_LIFETIME), sha256_hex(token)
    )
    text = f"{first_sentence}\n\nChoose a password within 24 hours:\n{web_url}/{PASSWORD_PAGE_PATH}?token={token}\n"
    await email_sender.send(EmailMessage(account.email, "Choose your password", text))


async def send_new_passkey_notice(email_sender: EmailSender, account: Account, *, web_url: str) -> None:
    """Informs a person about a new passkey, in case somebody else added it.

    Raises:
        EmailSenderUnavailable: the e-mail was not sent.
    """
    text = (
        "A passkey was added to your account. It signs in without your password.\n\n"
        f"If it was not you, remove it and choose another password:\n{web_url}/{ACCOUNT_PAGE_PATH}\n"
    )
    await email_sender.send(EmailMessage(account.email, "A passkey was added to your account", text))
