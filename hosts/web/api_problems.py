"""Why a read of the API has no answer, in the same words on every page."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

_MESSAGES: Final[Mapping[int, tuple[str, str]]] = MappingProxyType(
    {
        HTTPStatus.TOO_MANY_REQUESTS: (
            "Too many requests in the last minute.",
            "Wait a minute, then reload the page.",
        ),
        HTTPStatus.SERVICE_UNAVAILABLE: (
            "The data could not be read just now.",
            "Reload the page in a minute. If it keeps failing, run touchpoint doctor on the server to find the cause.",
        ),
    }
)
"""Status -> what happened and what to do, where the words of the API are for programs; those of ``query_timeout`` say what to do."""


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Why a read has no answer.

    Attributes:
        status: of the response.
        message: what happened, a sentence.
        hint: what to do; empty if there is nothing to do.
        code: error code of the API, if it has one.
    """

    status: int
    message: str
    hint: str = ""
    code: str | None = None

    @property
    def text(self) -> str:
        """What happened and what to do, in one line."""
        return f"{self.message} {self.hint}".strip()


def describe_problem(status: int, answer: Mapping[str, Any]) -> ReadProblem:
    """The problem of a read.

    Args:
        status: of the response.
        answer: its body as JSON values.
    """
    code = answer.get("code")
    if status in _MESSAGES and code != "query_timeout":
        return ReadProblem(status, *_MESSAGES[status], code)
    return ReadProblem(status, f"{str(answer.get('error', '')).rstrip('.')}.", answer.get("hint") or "", code)
