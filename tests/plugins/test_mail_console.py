"""Mail on the console goes to the standard error of the process, and to no log."""

import logging

from plugins import mail_console
from service_core.access.email_sender import EmailMessage
from service_core.extensions.registry import collect_plugins_into_registry


async def test_mail_is_printed_and_not_logged(tmp_path, capsys, caplog):
    mail = collect_plugins_into_registry(
        [("console", mail_console)], discover_entry_points=False
    ).open_adapter("mail", "console://", base_folder=tmp_path)
    with caplog.at_level(logging.DEBUG):
        await mail.send(
            EmailMessage("ann@example.com", "Choose your password", "https://app/password?token=secret")
        )
    printed = capsys.readouterr()
    assert "To: ann@example.com\nSubject: Choose your password\n" in printed.err
    assert "token=secret" in printed.err
    assert (printed.out, caplog.text) == ("", "")


def test_repr_of_a_message_hides_its_text():
    assert "secret" not in repr(EmailMessage("ann@example.com", "Subject", "https://app/?token=secret"))
