"""Logs of the service: one JSON object per line on standard error, without secrets or persons."""

import logging
import re
import sys
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SECRET: Final = re.compile(r"\b(dk_(?:agent_)?|dl_signup_|oat_|ort_|oac_|whsec_)[A-Za-z0-9_-]{8,}")
ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+|\b(?:\d{1,3}\.){3}\d{1,3}\b")


def write_logs(stream: TextIO | None = None) -> None:
    """Send every log record of the process through one formatter that redacts.

    Args:
        stream: where the lines go; None for standard error.
    """
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        redacted,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.processors.format_exc_info],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                redacted,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def redacted(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Blank out tokens, e-mail addresses and IP addresses in every text of a record."""
    return {name: _clean(value) if isinstance(value, str) else value for name, value in event.items()}


def _clean(text: str) -> str:
    return ADDRESS.sub("[redacted]", SECRET.sub(r"\1[redacted]", text))
