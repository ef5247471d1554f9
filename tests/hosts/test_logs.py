"""Logs carry no secret and no person."""

import json
import logging
from io import StringIO

import pytest

from hosts.logs import write_logs

SECRETS = [
    "dk_agent_9zZ0SGVUqd5RvT0og7BPn2xY5-1JHUZ2Nh4jg-DpCeQ",
    "dk_351b340c9c52815f00e0ed8c91b17db8",
    "dl_signup_9zZ0SGVUqd5RvT0og7BPn2xY5-1JHUZ2Nh4jg-DpCeQ",
    "ada@example.com",
    "203.0.113.77",
]


@pytest.fixture
def logs():
    root = logging.getLogger()
    before = root.handlers[:], root.level
    written = StringIO()
    write_logs(written)
    yield written.getvalue
    root.handlers, root.level = before


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_in_a_message_is_blanked(secret, logs):
    logging.getLogger("somewhere").warning("refused %s for reasons", secret)
    record = json.loads(logs())
    assert secret not in record["event"]
    assert "[redacted]" in record["event"]
    assert record["level"] == "warning"


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_in_an_exception_is_blanked(secret, logs):
    logging.getLogger("somewhere").error("failed", exc_info=ValueError(secret))
    assert "ValueError: " in logs()
    assert secret not in logs()
