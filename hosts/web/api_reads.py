"""Reads of the API for a page: the answer, or in words why there is none."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from hosts.composition.json_codec import CODEC
from hosts.web.page_context import PageContext
from service_core.access.models import Caller

_MESSAGES: Final[Mapping[int, tuple[str, str]]] = MappingProxyType(
    {
        HTTPStatus.TOO_MANY_REQUESTS: (
            "Too many requests in the last minute.",
            "Wait a minute, then reload the page.",
        ),
        HTTPStatus.SERVICE_UNAVAILABLE: (
            "The data could not be read just now.",
            "Reload the page in a minute. If this lasts, whoever runs the deployment finds the cause with touchpoint doctor.",
        ),
    }
)
"""Status -> what happened and what to do, where the words of the API are for programs."""


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Why a read has no answer.

    Attributes:
        status: of the response.
        message: what happened, a sentence.
        hint: what to do; empty if nobody knows.
        code: error code of the API, if it has one.
    """

    status: int
    message: str
    hint: str = ""
    code: str | None = None


@dataclass(frozen=True, slots=True)
class ApiRead:
    """A response of the API as JSON values.

    Attributes:
        data: the answer; empty if there is a problem.
        problem: why there is no answer.
    """

    data: Mapping[str, Any]
    problem: ReadProblem | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of an answer that does not cover everything yet."""
        if self.problem is None and self.data.get("complete") is False:
            return ("Some events of this range are still being processed, so the numbers may grow.",)
        return ()


async def read_api(context: PageContext, caller: Caller, path: str, **parameters: str) -> ApiRead:
    """The answer to a GET request of the signed-in person; empty parameters are not sent."""
    set_parameters = {name: value for name, value in parameters.items() if value}
    response = await context.request_api_as_member_within_limit(caller, path, **set_parameters)
    answer = CODEC.loads(response.body)
    if response.status == HTTPStatus.OK:
        return ApiRead(answer)
    return ApiRead({}, _describe_problem(response.status, answer))


def _describe_problem(status: int, answer: Mapping[str, Any]) -> ReadProblem:
    code = answer.get("code")
    if status in _MESSAGES:
        return ReadProblem(status, *_MESSAGES[status], code)
    return ReadProblem(status, f"{answer['error'].rstrip('.')}.", answer.get("hint") or "", code)


async def read_query(context: PageContext, caller: Caller, body: Mapping[str, Any]) -> ApiRead:
    """The answer to `POST /query` of the signed-in person."""
    response = await context.post_api_as_member(caller, "/query", body)
    answer = CODEC.loads(response.body)
    if response.status == HTTPStatus.OK:
        return ApiRead(answer)
    return ApiRead({}, _describe_problem(response.status, answer))
