"""Requests of the API for a page: in the name of whoever is signed in, or with the key that the browser sent."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import urlencode

from hosts.composition.json_codec import CODEC
from hosts.web.api_problems import ReadProblem, describe_problem
from hosts.web.cards.card import Answer
from hosts.web.page_context import PageContext
from service_core.api.http_messages import ApiRequest, ApiResponse
from service_core.api.render import json_default

JSON_MEDIA_TYPE: Final = "application/json"


@dataclass(frozen=True, slots=True)
class ApiResult:
    """A response of the API with its decoded body.

    Attributes:
        body: JSON values; of an error, its message, code and hint.
    """

    status: int
    body: Answer

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return self.status == HTTPStatus.OK

    @property
    def data(self) -> Answer:
        """The answer of a read; empty if there is none."""
        return self.body if self.ok else {}

    @property
    def problem(self) -> ReadProblem | None:
        """Why a read has no answer; None if it has one."""
        return None if self.ok else describe_problem(self.status, self.body)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of an answer that does not cover everything yet."""
        if self.data.get("complete") is False:
            return ("Some events of this range are still being processed, so the numbers may grow.",)
        return ()

    @property
    def message(self) -> str:
        """Why a read has no answer, and what to do, in one line."""
        return describe_problem(self.status, self.body).text

    @property
    def refusal_message(self) -> str:
        """Why a write was refused, in the words of the API."""
        error, hint = str(self.body.get("error", "")), self.body.get("hint")
        return f"{error.rstrip('.')}. {hint}" if hint else f"{error.rstrip('.')}."


NOTHING_READ: Final = ApiResult(HTTPStatus.OK, {})
"""What a page shows that had no reason to read."""


class ApiRequestFailed(Exception):
    """A read that a page cannot do without failed.

    Attributes:
        result: the error response.
    """

    def __init__(self, result: ApiResult) -> None:
        super().__init__(result.message)
        self.result = result


class ApiClient(ABC):
    """Sends the requests of a page; each counts against a request limit of the account or key."""

    @abstractmethod
    async def request_api(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> ApiResponse:
        """Sends a request to a path below ``/v1``; a body is JSON."""

    async def get(self, path: str, **parameters: str) -> ApiResult:
        """Returns the result of a GET request; empty parameters are not sent."""
        query = urlencode({name: value for name, value in parameters.items() if value})
        return _decode_result(await self.request_api("GET", path, query=query))

    async def get_or_fail(self, path: str, **parameters: str) -> Answer:
        """Returns the answer of a GET request.

        Raises:
            ApiRequestFailed: the response is an error.
        """
        result = await self.get(path, **parameters)
        if not result.ok:
            raise ApiRequestFailed(result)
        return result.body

    async def post(self, path: str, body: Mapping[str, Any]) -> ApiResult:
        """Returns the result of a POST request with a JSON body."""
        return await self.send("POST", path, body)

    async def send(
        self, method: str, path: str, body: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> ApiResult:
        """Returns the result of a request with a JSON body.

        Args:
            method: ``POST``, ``PATCH`` or ``DELETE``.
            path: of the operation, such as ``/reports``.
            body: JSON values.
            idempotency_key: with it, a repeated ``POST`` changes nothing.
        """
        headers = {"idempotency-key": idempotency_key} if idempotency_key else {}
        return _decode_result(
            await self.request_api(method, path, body=CODEC.dumps(body, json_default), headers=headers)
        )

    async def post_for_file(self, path: str, body: Mapping[str, Any], media_type: str) -> bytes:
        """Returns the answer of a POST request as a file.

        Args:
            path: of the operation, such as ``/query``.
            body: JSON values.
            media_type: of the file, such as ``text/csv``.

        Raises:
            ApiRequestFailed: the response is an error.
        """
        response = await self.request_api(
            "POST", path, body=CODEC.dumps(body, json_default), headers={"accept": media_type}
        )
        if response.status != HTTPStatus.OK:
            raise ApiRequestFailed(_decode_result(response))
        return response.body


@dataclass(frozen=True, slots=True)
class KeyClient(ApiClient):
    """Sends requests with a key, as any program does.

    Attributes:
        authorization: the header of the browser's request.
    """

    context: PageContext
    authorization: str = field(repr=False)

    async def request_api(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> ApiResponse:
        """Sends a request with the key."""
        sent = {"authorization": self.authorization, "content-type": JSON_MEDIA_TYPE, **headers}
        return await self.context.service.dispatch(ApiRequest(method, f"/v1{path}", query, sent, body))


def _decode_result(response: ApiResponse) -> ApiResult:
    return ApiResult(response.status, CODEC.loads(response.body))
