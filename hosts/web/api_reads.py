"""Reads of the API for a page: the answer, or in words why there is none."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, TypeVar

from hosts.composition.json_codec import CODEC
from hosts.web.api_problems import ReadProblem, describe_problem
from hosts.web.page_context import PageContext
from service_core.access.models import Caller
from service_core.kernel.async_gather import gather_or_cancel

_Answer = TypeVar("_Answer")


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
    return ApiRead({}, describe_problem(response.status, answer))


async def read_query(context: PageContext, caller: Caller, body: Mapping[str, Any]) -> ApiRead:
    """The answer to `POST /query` of the signed-in person."""
    response = await context.post_api_as_member(caller, "/query", body)
    answer = CODEC.loads(response.body)
    if response.status == HTTPStatus.OK:
        return ApiRead(answer)
    return ApiRead({}, describe_problem(response.status, answer))


async def gather_two_at_a_time(reads: Iterable[Callable[[], Awaitable[_Answer]]]) -> tuple[_Answer, ...]:
    """The answers in the order of the reads; more at once would keep other readers of the store waiting.

    Args:
        reads: each begins one read. When one fails, those that run are cancelled and no other begins.
    """
    permits = asyncio.Semaphore(2)

    async def run(read: Callable[[], Awaitable[_Answer]]) -> _Answer:
        async with permits:
            return await read()

    return await gather_or_cancel(*(run(read) for read in reads))
