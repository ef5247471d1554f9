"""The conformance kit of the port ``mail``: the tests that every sender of e-mail passes.

Override three fixtures and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyMail(EmailSenderConformance):
        @pytest.fixture
        def sender(self): ...

        @pytest.fixture
        def unavailable_sender(self): ...

        @pytest.fixture
        def sent_texts(self):
            return lambda: [str(message) for message in my_server.messages]
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable

_LINK: Final = "https://analytics.example/app/password?token=secret-of-the-link"
MESSAGE: Final = EmailMessage("ada@example.com", "Größe & Farbe", f"Open {_LINK}\n.\nBye", id="message-1")
"""A message with a one-time link, a line with a full stop alone and letters beyond ASCII."""


class EmailSenderConformance:
    """All tests of the kit; override the fixtures ``sender``, ``unavailable_sender`` and ``sent_texts``."""

    @pytest.fixture
    def sender(self) -> EmailSender:
        """Returns the adapter under test."""
        raise pytest.UsageError("override the fixture `sender` with the adapter under test")

    @pytest.fixture
    def unavailable_sender(self) -> EmailSender:
        """Returns the adapter under test, unable to deliver anything."""
        raise pytest.UsageError("override the fixture `unavailable_sender` with an adapter that cannot send")

    @pytest.fixture
    def sent_texts(self) -> Callable[[], Sequence[str]]:
        """Returns a function that gives the whole text of each e-mail that was sent by ``sender``."""
        raise pytest.UsageError("override the fixture `sent_texts`")

    async def test_message_is_sent_once_with_recipient_and_whole_text(
        self, sender: EmailSender, sent_texts: Callable[[], Sequence[str]]
    ) -> None:
        """One call sends one e-mail with its recipient, and every line of its text."""
        await sender.send(MESSAGE)
        texts = sent_texts()
        assert len(texts) == 1
        assert "ada@example.com" in texts[0]
        assert "Bye" in texts[0]

    async def test_two_messages_are_two_e_mails(
        self, sender: EmailSender, sent_texts: Callable[[], Sequence[str]]
    ) -> None:
        """Messages without an id are not taken for repeats."""
        for number in (1, 2):
            await sender.send(EmailMessage("ada@example.com", f"Message {number}", "Hello"))
        assert len(sent_texts()) == 2

    async def test_failed_delivery_raises_email_sender_unavailable(
        self, unavailable_sender: EmailSender
    ) -> None:
        """A message that is not accepted raises `EmailSenderUnavailable`, without the text of the message."""
        with pytest.raises(EmailSenderUnavailable) as failed:
            await unavailable_sender.send(MESSAGE)
        assert "secret-of-the-link" not in str(failed.value)

    async def test_one_time_links_are_not_logged(
        self, sender: EmailSender, caplog: pytest.LogCaptureFixture
    ) -> None:
        """No log record holds the text of a message."""
        caplog.set_level(logging.DEBUG)
        await sender.send(MESSAGE)
        assert "secret-of-the-link" not in caplog.text
