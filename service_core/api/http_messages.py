"""What passes through the door: a request, a response and the codec between bytes and JSON."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from service_core.access.models import AuthContext, RequestInterface
from service_core.kernel.file_response import ByteStreamOpener


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """One request, free of any server.

    Attributes:
        method: upper case.
        path: as sent, percent-encoded, without the query string.
        query: query string as sent.
        headers: names in lower case.
        body: at most one byte more than the limit; the rest of a larger body is not kept.
        client: address of the client, when it is known.
        via: the door it came through.
        identity: whoever that door has admitted by rules of its own; None lets the gateway read the credential.
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
    """One response; a host writes it as it stands.

    Attributes:
        chunks: gives the body piece by piece instead; ``Content-Length`` stands in the headers then.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    open_stream: ByteStreamOpener | None = None


@dataclass(frozen=True, slots=True)
class JsonCodec:
    """JSON in and out. The core has none of its own: composition chooses a library.

    Attributes:
        loads: refuses what is no JSON (NaN, lone surrogates, bytes that are not UTF-8) with a `ValueError`.
        dumps: takes a value and the function that renders what JSON lacks, `gateway.render.plain`.
    """

    loads: Callable[[bytes], Any]
    dumps: Callable[[Any, Callable[[Any], Any]], bytes]
