"""Server-independent request and response values, and the JSON codec."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service_core.access.models import AuthContext, RequestInterface
from service_core.kernel.answer_table import AnswerTable
from service_core.kernel.file_response import ByteStreamOpener


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request, independent of any server.

    Attributes:
        method: upper case.
        path: as sent, percent-encoded, without the query string.
        query: query string as sent.
        headers: names in lower case.
        body: at most one byte more than the limit; the rest of a larger body is dropped.
        client_ip: IP address of the client, if known.
        interface: the interface the request used.
        auth_context: the credential, if the interface has authenticated the request itself.
    """

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    client_ip: str | None = None
    interface: RequestInterface = RequestInterface.API
    auth_context: AuthContext | None = None


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A response; a host writes it unchanged.

    Attributes:
        open_stream: returns the body in chunks instead; the headers then contain ``Content-Length``.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    open_stream: ByteStreamOpener | None = None


@dataclass(frozen=True, slots=True)
class JsonCodec:
    """JSON encoding and decoding. The core has no implementation; composition chooses a library.

    Attributes:
        loads: raises `ValueError` for invalid JSON, also for NaN, lone surrogates and bytes that are not UTF-8.
        dumps: takes a value and the function for types that JSON lacks, `api.render.json_default`.
    """

    loads: Callable[[bytes], Any]
    dumps: Callable[[Any, Callable[[Any], Any]], bytes]


ArrowEncoder = Callable[[AnswerTable], bytes]
"""Writes a table as an Arrow stream. Composition chooses a library, as for JSON."""
