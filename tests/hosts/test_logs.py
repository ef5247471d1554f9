"""Logs carry no secret and no person."""

import json
import logging
import sys
import time
from io import StringIO

import pytest

from hosts.logs import configure_redacted_json_logging, redact

SECRETS = [
    "dk_agent_9zZ0SGVUqd5RvT0og7BPn2xY5-1JHUZ2Nh4jg-DpCeQ",
    "dk_351b340c9c52815f00e0ed8c91b17db8",
    "dl_signup_9zZ0SGVUqd5RvT0og7BPn2xY5-1JHUZ2Nh4jg-DpCeQ",
    "ada@example.com",
    "203.0.113.77",
    "2001:db8:0:0:1:2:3:4",
    "2001:db8::7:1",
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
]


@pytest.fixture
def logs():
    root = logging.getLogger()
    before, hook = (root.handlers[:], root.level), sys.excepthook
    written = StringIO()
    configure_redacted_json_logging(written)
    yield written.getvalue
    (root.handlers, root.level), sys.excepthook = before, hook


@pytest.mark.parametrize("secret", SECRETS)
def test_secret_in_a_message_is_blanked(secret, logs):
    logging.getLogger("somewhere").warning("refused %s for reasons", secret)
    record = json.loads(logs())
    assert secret not in record["event"]
    assert "[redacted]" in record["event"]
    assert record["level"] == "warning"


@pytest.mark.parametrize("secret", SECRETS)
def test_secret_in_an_exception_is_blanked(secret, logs):
    logging.getLogger("somewhere").error("failed", exc_info=ValueError(secret))
    assert "ValueError: " in logs()
    assert secret not in logs()


@pytest.mark.parametrize("secret", SECRETS)
def test_nested_secret_in_log_fields_is_blanked(secret, logs):
    extra = {"request": {"headers": [("x", secret)]}, "who": secret, "pause": 0.5, "code": None}
    logging.getLogger("somewhere").error("refused", extra=extra)
    record = json.loads(logs())
    assert secret not in logs()
    assert (record["event"], record["pause"], record["code"]) == ("refused", 0.5, None)


@pytest.mark.parametrize("piece", ["a", "a.", "1.", ":", "a:", "a@", "://", "cookie ", "authorization: "])
def test_redaction_time_is_linear_in_the_text(piece):
    began = time.process_time()
    redact(piece * (200_000 // len(piece)))
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("told", "secret"),
    [
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ("{'authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz"),
        ("sent bearer 8fj29dk20dk2", "8fj29dk20dk2"),
        ("x-api-key=whatever", "whatever"),
        ("cannot reach redis://touchpoint:hunter2@redis.internal:6379/0", "hunter2"),
    ],
)
def test_credentials_are_detected_by_their_prefix(told, secret, logs):
    logging.getLogger("somewhere").warning(told)
    assert secret not in logs()


def test_times_code_locations_and_versions_are_not_redacted(logs):
    result = 'File "hosts/single_process.py", line 12, in hosts::serve at 2026-11-21T06:17:23Z took 12:30:45'
    logging.getLogger("somewhere").warning(result)
    assert json.loads(logs())["event"] == result


@pytest.mark.parametrize("secret", SECRETS)
def test_fatal_error_is_logged_without_secrets(secret, logs):
    fault = ExceptionGroup("tasks", [ValueError(secret)])
    sys.excepthook(type(fault), fault, None)
    assert json.loads(logs())["event"] == "the process ends by a fault"
    assert secret not in logs()
