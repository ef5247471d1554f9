"""Logs of the service: one JSON object per line on standard error, without secrets or personal data."""

import json
import logging
import re
import sys
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, TextIO

from hosts.request_ids import REQUEST_ID

SECRET_PATTERN: Final = re.compile(
    r"\b(dk_(?:agent_)?|dl_signup_|oat_|ort_|oac_|whsec_|sk_|rk_)[A-Za-z0-9_-]{8,}"
)
AUTHORIZATION_PATTERN: Final = re.compile(
    r"\b(authorization|x-api-key|cookie)\b[^\w\[]{1,6}(?:(?:bearer|basic) +)?[^\s\"\\,]+|\b(bearer) +[\w.~+/=-]{8,}",
    re.IGNORECASE,
)
PASSWORD_PATTERN: Final = re.compile(r"(://[^\s:/@\"]*:)[^\s@\"/]+@")
ADDRESS_PATTERN: Final = re.compile(
    r"(?<![\w.+-])[\w.+-]++@[\w-]+\.[\w.-]+"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|(?<![\w:])(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}(?![\w:])"
    r"|(?<![\w:])(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}(?![\w:])",
    re.IGNORECASE,
)
"""Persons and machines: e-mail addresses, IPv4 and IPv6. A run of letters is walked once, however long it is."""


_STANDARD_ATTRIBUTES: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes of every record; all others come from ``extra``."""


def configure_redacted_json_logging(stream: TextIO | None = None) -> None:
    """Sends every log record of the process through one redacting formatter.

    Args:
        stream: where the lines go; None for standard error.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_RedactingJsonFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    sys.excepthook = _log_uncaught_exception_unless_interrupt
    for verbose_logger in ("alembic", "httpx2", "touchpoint.server"):  # httpx2 logs every URL unredacted
        logging.getLogger(verbose_logger).setLevel(logging.WARNING)


def _log_uncaught_exception_unless_interrupt(
    kind: type[BaseException], fault: BaseException, trace: TracebackType | None
) -> None:
    """Logs an uncaught exception through the redacting formatter; Ctrl-C is none."""
    if issubclass(kind, KeyboardInterrupt):
        return
    logging.getLogger("touchpoint").critical("the process ends by a fault", exc_info=(kind, fault, trace))


class _RedactingJsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON with every value redacted."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"request_id": request_id} if (request_id := REQUEST_ID.get()) else {}),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD_ATTRIBUTES},
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: _redact_value(value) for name, value in fields.items()}, ensure_ascii=False)


def _redact_value(value: object) -> object:
    """Returns a value redacted; what is no number or text is converted to text first."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return redact(value if isinstance(value, str) else str(value))


def redact(text: str) -> str:
    """Returns a text without credentials, e-mail addresses and IP addresses."""
    text = AUTHORIZATION_PATTERN.sub(_replacement_for, SECRET_PATTERN.sub(r"\1[redacted]", text))
    return ADDRESS_PATTERN.sub("[redacted]", PASSWORD_PATTERN.sub(r"\1[redacted]@", text))


def _replacement_for(match: re.Match[str]) -> str:
    return f"{match[1] or match[2]} [redacted]"
