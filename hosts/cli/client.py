"""The command line as a client of ``/v1``, like any other."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from service_core.kernel.errors import StartupError


class ApiClient:
    """Asks a running service with a key.

    Args:
        api: root address, without ``/v1``.
        key: Agent key or named key.
    """

    def __init__(self, api: str, key: str) -> None:
        self._api = api.rstrip("/")
        self._key = key

    def get(self, path: str, **parameters: str | int) -> Mapping[str, Any]:
        """The answer of a read; raises as `post` does."""
        return self._request_json(f"{path}?{urlencode(parameters)}", None)

    def post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer to a JSON body.

        Raises:
            StartupError: nobody answers, or the service refused; the message is its own sentence.
        """
        return self._request_json(path, json.dumps(body).encode())

    def _request_json(self, path: str, body: bytes | None) -> Mapping[str, Any]:
        address = f"{self._api}/v1{path}"
        if not address.startswith(("http://", "https://")):
            raise StartupError(f"{self._api} is not the address of a service. Write http://HOST:PORT.")
        request = Request(address, body, {"Authorization": f"Bearer {self._key}"})  # noqa: S310 - checked above
        try:
            with urlopen(request) as response:  # noqa: S310 - checked above
                return dict(json.load(response))
        except HTTPError as error:
            with error:
                if error.code == HTTPStatus.NOT_FOUND:
                    raise StartupError(
                        f"{self._api} answers, but is not the API. Name its address with --api."
                    ) from None
                raise StartupError(_error_sentence(error.read())) from None
        except URLError as fault:
            reason = getattr(fault.reason, "strerror", None) or fault.reason
            raise StartupError(
                f"No service answers at {self._api}: {reason}. Start it with `touchpoint serve`, or name its address "
                "with --api."
            ) from None


def _error_sentence(body: bytes) -> str:
    error = json.loads(body)
    return " ".join(f"{part}." for part in (error["error"], error.get("hint")) if part).replace("..", ".")
