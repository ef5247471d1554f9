"""Logs of the service: one JSON object per line on standard error, without secrets or persons."""

import logging
import re
import sys
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SECRET: Final = re.compile(r"\b(dk_(?:agent_)?|dl_signup_|oat_|ort_|oac_|whsec_|sk_|rk_)[A-Za-z0-9_-]{8,}")
AUTHORIZATION: Final = re.compile(
    r"\b(authorization|x-api-key|cookie)\b[^\w\[]{1,6}(?:(?:bearer|basic) +)?[^\s\"\\,]+|\b(bearer) +[\w.~+/=-]{8,}",
    re.IGNORECASE,
)
PASSWORD: Final = re.compile(r"(://[^\s:/@\"]*:)[^\s@\"/]+@")
ADDRESS: Final = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.-]+"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|(?<![\w:])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:])"
    r"|(?<![\w:])(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![\w:])",
    re.IGNORECASE,
)
"""Persons and machines: e-mail addresses, IPv4 and IPv6."""


def write_logs(stream: TextIO | None = None) -> None:
    """Send every log record of the process through one formatter that redacts.

    Args:
        stream: where the lines go; None for standard error.
    """
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.ExtraAdder(), *shared],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                redacted,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for wordy in ("alembic", "touchpoint.server"):
        logging.getLogger(wordy).setLevel(logging.WARNING)


def redacted(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Blank out credentials, e-mail addresses and IP addresses in every value of a record."""
    return {name: _told(value) for name, value in event.items()}


def _told(value: object) -> object:
    """What is no text is told as text, so that nothing inside it is told by accident."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean(value if isinstance(value, str) else str(value))


def clean(text: str) -> str:
    """A text without credentials, e-mail addresses and IP addresses."""
    text = AUTHORIZATION.sub(_named, SECRET.sub(r"\1[redacted]", text))
    return ADDRESS.sub("[redacted]", PASSWORD.sub(r"\1[redacted]@", text))


def _named(found: re.Match[str]) -> str:
    return f"{found[1] or found[2]} [redacted]"
