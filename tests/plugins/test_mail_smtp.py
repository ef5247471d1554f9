"""Mail over SMTP, against a server that speaks enough of it."""

import asyncio
import base64
from contextlib import asynccontextmanager
from email import message_from_bytes
from email.policy import default

import pytest

from plugins import mail_smtp
from service_core.access.email_sender import EmailMessage, EmailSenderUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError

REGISTRY = collect_plugins_into_registry([("smtp", mail_smtp)], discover_entry_points=False)
MESSAGE = EmailMessage(
    "ann@example.com", "Einladung für Ann\nBcc: eve@example.com", "Grüße\nhttps://app/?token=t\n"
)


class StubSmtpServer:
    """Takes letters; `refuse` is the answer to ``RCPT``, `answers` are those to other words."""

    def __init__(self):
        self.letters, self.logins, self.refuse, self.port = [], [], b"250 ok", 0
        self.contents = []
        self.answers, self.heard = {}, []

    async def handle_connection(self, reader, writer):
        writer.write(b"220 test\r\n")
        while line := await reader.readline():
            verb = line.split()[0].upper().decode()
            self.heard.append(verb)
            if verb in self.answers:
                writer.write(self.answers[verb] + b"\r\n")
            elif verb == "EHLO":
                writer.write(b"250-test\r\n250 AUTH PLAIN\r\n")
            elif verb == "AUTH":
                self.logins.append(base64.b64decode(line.split()[2]).decode())
                writer.write(b"235 ok\r\n")
            elif verb == "RCPT":
                writer.write(self.refuse + b"\r\n")
            elif verb == "DATA":
                writer.write(b"354 go\r\n")
                content = await reader.readuntil(b"\r\n.\r\n")
                self.contents.append(content)
                self.letters.append(message_from_bytes(content[:-3], policy=default))
                writer.write(b"250 ok\r\n")
            elif verb == "QUIT":
                writer.write(b"221 bye\r\n")
                break
            else:
                writer.write(b"250 ok\r\n")
            await writer.drain()
        writer.close()


@asynccontextmanager
async def serve_smtp():
    server = StubSmtpServer()
    listener = await asyncio.start_server(server.handle_connection, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


def open_mailer(folder, address, **options):
    query = "&".join(
        f"{k}={v}" for k, v in {"sender": "touchpoint@example.com", "security": "none", **options}.items()
    )
    return REGISTRY.open_adapter("mail", f"smtp://{address}?{query}", base_folder=folder)


async def test_mail_is_delivered_unchanged_with_a_one_line_subject(tmp_path):
    async with serve_smtp() as server:
        await open_mailer(tmp_path, f"127.0.0.1:{server.port}").send(MESSAGE)
    (letter,) = server.letters
    assert (letter["From"], letter["To"]) == ("touchpoint@example.com", "ann@example.com")
    assert letter["Subject"] == "Einladung für Ann Bcc: eve@example.com"
    assert letter["Bcc"] is None
    assert letter.get_content().replace("\r\n", "\n") == "Grüße\nhttps://app/?token=t\n"


async def test_long_unsubscribe_url_is_neither_encoded_nor_broken(tmp_path):
    url = "https://analytics.example.com/email/unsubscribe?" + "&".join(
        f"part{n}=a%40b.example" for n in range(12)
    )
    message = EmailMessage("ann@example.com", "Weekly", "Grüße\n", unsubscribe_url=url)
    async with serve_smtp() as server:
        await open_mailer(tmp_path, f"127.0.0.1:{server.port}").send(message)
    assert f"\r\nList-Unsubscribe: <{url}>\r\n".encode() in server.contents[0]


async def test_percent_encoded_credentials_are_decoded(tmp_path):
    async with serve_smtp() as server:
        await open_mailer(tmp_path, f"ann%40example.com:p%2Fw@127.0.0.1:{server.port}").send(MESSAGE)
    assert server.logins == ["\0ann@example.com\0p/w"]


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_server_without_tls_gets_no_mail(tmp_path, security):
    async with serve_smtp() as server:
        with pytest.raises(EmailSenderUnavailable):
            await open_mailer(
                tmp_path, f"127.0.0.1:{server.port}", security=security, timeout_seconds=2
            ).send(MESSAGE)
    assert server.letters == []


async def test_refusing_or_unavailable_server_is_reported(tmp_path):
    async with serve_smtp() as server:
        server.refuse = b"550 no ann@example.com here"
        with pytest.raises(EmailSenderUnavailable) as caught:
            await open_mailer(tmp_path, f"127.0.0.1:{server.port}").send(MESSAGE)
    assert "ann@example.com" not in str(caught.value)
    with pytest.raises(EmailSenderUnavailable):
        await open_mailer(tmp_path, f"127.0.0.1:{server.port}").send(MESSAGE)


async def test_health_check_ends_after_the_sender_command(tmp_path):
    async with serve_smtp() as server:
        await open_mailer(tmp_path, f"ann:p%2Fw@127.0.0.1:{server.port}").check()
    assert server.heard == ["EHLO", "AUTH", "MAIL", "RSET", "QUIT"]
    assert server.logins == ["\0ann\0p/w"]
    assert server.letters == []


@pytest.mark.parametrize(
    ("verb", "answer", "said", "security"),
    [
        ("AUTH", b"535 who are you", "535 who are you", "none"),
        ("MAIL", b"530 sign in first", "530 sign in first", "none"),
        ("EHLO", b"250 nothing else", "SMTP AUTH extension not supported", "none"),
        ("EHLO", b"250 nothing else", "STARTTLS extension not supported", "starttls"),
    ],
)
async def test_health_check_reports_the_server_message_without_password(
    tmp_path, verb, answer, said, security
):
    async with serve_smtp() as server:
        server.answers[verb] = answer
        with pytest.raises(StartupError, match=r"mail\.transport cannot be used") as result:
            await open_mailer(tmp_path, f"ann:sesame@127.0.0.1:{server.port}", security=security).check()
    assert said in str(result.value)
    assert "sesame" not in str(result.value)


async def test_health_check_of_a_silent_server_times_out(tmp_path):
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(StartupError, match="timed out"):
            await open_mailer(tmp_path, f"127.0.0.1:{port}", timeout_seconds=0.2).check()


async def test_invalid_address_is_not_sent(tmp_path):
    async with serve_smtp() as server:
        with pytest.raises(EmailSenderUnavailable):
            await open_mailer(tmp_path, f"127.0.0.1:{server.port}").send(
                EmailMessage("a\nb@example.com", "x", "y")
            )
    assert server.letters == []


@pytest.mark.parametrize("url", ["smtp://", "smtp://host", "smtp://host?sender=a@b.c&security=ssl"])
def test_invalid_url_stops_the_start(tmp_path, url):
    with pytest.raises(StartupError):
        REGISTRY.open_adapter("mail", url, base_folder=tmp_path)
