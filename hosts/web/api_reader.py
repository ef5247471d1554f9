"""Reads of the API for one page: as whoever is signed in, or with the key that the browser sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import urlencode

from hosts.composition.json_codec import CODEC
from hosts.web.api_problems import describe_problem
from hosts.web.cards.card import Answer
from hosts.web.page_context import PageContext
from service_core.access.models import Caller
from service_core.api.http_messages import ApiRequest, ApiResponse
from service_core.api.render import json_default


class ApiReader(Protocol):
    """Sends requests of a page; each counts against a request limit."""

    async def get(self, path: str, **parameters: str) -> ApiResponse:
        """Sends a GET request to a path below ``/v1``."""

    async def post(self, path: str, body: Mapping[str, Any]) -> ApiResponse:
        """Sends a POST request with a JSON body to a path below ``/v1``."""


@dataclass(frozen=True, slots=True)
class MemberReader:
    """Reads as whoever is signed in."""

    context: PageContext
    caller: Caller

    async def get(self, path: str, **parameters: str) -> ApiResponse:
        """Sends a GET request to a path below ``/v1``."""
        return await self.context.request_api_as_member_within_limit(self.caller, path, **parameters)

    async def post(self, path: str, body: Mapping[str, Any]) -> ApiResponse:
        """Sends a POST request with a JSON body to a path below ``/v1``."""
        return await self.context.post_api_as_member(self.caller, path, body)


@dataclass(frozen=True, slots=True)
class KeyReader:
    """Reads with a key, as any program does.

    Attributes:
        authorization: the header of the browser's request.
    """

    context: PageContext
    authorization: str = field(repr=False)

    async def get(self, path: str, **parameters: str) -> ApiResponse:
        """Sends a GET request to a path below ``/v1``."""
        return await self._send("GET", path, query=urlencode(parameters))

    async def post(self, path: str, body: Mapping[str, Any]) -> ApiResponse:
        """Sends a POST request with a JSON body to a path below ``/v1``."""
        return await self._send("POST", path, body=CODEC.dumps(body, json_default))

    async def _send(self, method: str, path: str, *, query: str = "", body: bytes = b"") -> ApiResponse:
        headers = {"authorization": self.authorization, "content-type": "application/json"}
        return await self.context.service.dispatch(ApiRequest(method, f"/v1{path}", query, headers, body))


def successful_answer(response: ApiResponse) -> Answer | None:
    """The JSON of an answer; None for an error."""
    answer: Answer | None = CODEC.loads(response.body) if response.status == HTTPStatus.OK else None
    return answer


def explain_failure(response: ApiResponse) -> str:
    """What a card says in place of an answer that is an error: the reason, and what to do."""
    return describe_problem(response.status, CODEC.loads(response.body)).text
