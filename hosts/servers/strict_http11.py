"""Hypercorn's HTTP/1.1 with a strict parser, and HTTP/2 with a limit on streams that the client resets.

h11 reads some headers leniently (RFC 9112 lets it): a line that ends with a line feed alone, a line that
continues the one before, a length that is said twice. A proxy in front may read them otherwise, so they are refused.
"""

import re
from typing import Any, Final, cast

import h11
from h2.events import StreamReset
from h11._receivebuffer import ReceiveBuffer
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.h2 import H2Protocol
from hypercorn.protocol.h11 import H2CProtocolRequiredError, H2ProtocolAssumedError, H11Protocol

from hosts.request_smuggling import header_error_response
from hosts.servers.request_deadline import RequestDeadline
from hosts.upload_paths import is_upload

MAX_RESET_STREAMS: Final = 200
"""Streams of one HTTP/2 connection that its client may reset. Each costs a request; a browser resets a few."""
_HTTP_VERSIONS: Final = frozenset({b"1.1", b"1.0"})
_ABSOLUTE_TARGET: Final = re.compile(
    rb"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?(?P<path>/[^?]*)(?P<query>\?.*)?",
    re.IGNORECASE,
)
_LENGTH: Final = b"content-length:"
_END_OF_HEADER: Final = b"\r\n\r\n"


class StrictHttp11(H11Protocol):
    """HTTP/1.1 on one connection; every error of a header is answered with JSON, and closes the connection.

    Attributes:
        http2: whether a client may go on with HTTP/2.
        refused: whether the connection ends because of an error in a header.
    """

    http2 = False
    refused = False
    _is_upload = False

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        vars(self.connection)["_receive_buffer"] = _StrictReceiveBuffer()

    @property
    def is_request_incomplete(self) -> bool:
        """Whether a part of a request has come, and not its end; False for an upload, which may take any time."""
        connection = cast(h11.Connection, self.connection)
        if connection.their_state is h11.SEND_BODY:
            return not self._is_upload
        return connection.their_state is h11.IDLE and bool(connection.trailing_data[0])

    async def _check_protocol(self, event: h11.Request) -> None:
        if self.http2:
            await super()._check_protocol(event)

    async def _create_stream(self, request: h11.Request) -> None:
        if _asks_for_tunnel(request) or request.http_version not in _HTTP_VERSIONS:
            await self._send_error_response(400)
            await self.send(Closed())
        else:
            request = _with_origin_form_target(request)
            path = request.target.partition(b"?")[0].decode("latin-1")
            self._is_upload = is_upload({"method": request.method.decode(), "path": path})
            await super()._create_stream(request)

    async def _send_error_response(self, status_code: int) -> None:
        self.refused = True
        answer = header_error_response(status_code)
        await self._send_h11_event(h11.Response(status_code=answer.status, headers=answer.headers))
        await self._send_h11_event(h11.Data(data=answer.body))
        await self._send_h11_event(h11.EndOfMessage())


class LimitedHttp2(H2Protocol):
    """HTTP/2 on one connection, which ends when the client resets too many streams.

    Attributes:
        flooded: whether the client has reset too many.
    """

    flooded = False
    _resets = 0

    async def _handle_events(self, events: list[Any]) -> None:
        self._resets += sum(isinstance(event, StreamReset) for event in events)
        if self._resets > MAX_RESET_STREAMS:
            self.flooded = True
            await self.send(Closed())
        else:
            await super()._handle_events(events)


class ConnectionProtocol:
    """The protocol of one connection: HTTP/1.1, or what the client changes it to.

    Args:
        wrapper: hypercorn's own, which knows the connection.
        deadline: of a request; HTTP/2 leaves it to the application.
        http2: whether cleartext HTTP/2 is allowed.
    """

    def __init__(self, wrapper: Any, deadline: RequestDeadline, *, http2: bool) -> None:
        self._deadline = deadline
        self._arguments = (
            wrapper.app,
            wrapper.config,
            wrapper.context,
            wrapper.task_group,
            wrapper.state,
            wrapper.ssl,
            wrapper.client,
            wrapper.server,
            wrapper.send,
        )
        self._protocol: StrictHttp11 | LimitedHttp2 = StrictHttp11(*self._arguments)
        self._protocol.http2 = http2

    @property
    def refused(self) -> bool:
        """Whether the connection ends because of an error in a header."""
        return isinstance(self._protocol, StrictHttp11) and self._protocol.refused

    @property
    def flooded(self) -> bool:
        """Whether the client has reset too many streams."""
        return isinstance(self._protocol, LimitedHttp2) and self._protocol.flooded

    async def handle(self, event: Event) -> None:
        """Reads what has come, or the end of the connection."""
        try:
            await self._protocol.handle(event)
        except H2ProtocolAssumedError as preface:
            await self._continue_with_http2(preface.data)
        except H2CProtocolRequiredError as upgrade:
            await self._continue_with_http2(upgrade.data, upgrade.headers, upgrade.settings)
        if isinstance(self._protocol, StrictHttp11) and self._protocol.is_request_incomplete:
            self._deadline.start_unless_started()
        else:
            self._deadline.stop()

    async def _continue_with_http2(self, data: bytes, *upgraded_request: Any) -> None:
        self._protocol = LimitedHttp2(*self._arguments)
        await self._protocol.initiate(*upgraded_request)
        if data:
            await self._protocol.handle(RawData(data))


class _StrictReceiveBuffer(ReceiveBuffer):
    """Refuses header lines that another server could read differently."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Returns the lines up to the next blank one, or None while it has not come.

        Raises:
            h11.RemoteProtocolError: a line ends without a carriage return or continues another one, or there are
                several lengths.
        """
        end = self._data.find(_END_OF_HEADER)
        if not self._data.startswith(b"\r\n"):  # the end of a chunked body without trailers
            _check_lines(self._data if end < 0 else self._data[: end + len(_END_OF_HEADER)])
        lines = super().maybe_extract_lines()
        lengths = [line for line in lines or () if line[: len(_LENGTH)].lower() == _LENGTH]
        if len(lengths) > 1 or any(b"," in line for line in lengths):
            raise h11.RemoteProtocolError("several lengths")
        return lines


def _check_lines(header: bytearray) -> None:
    feeds, breaks = header.count(b"\n"), header.count(b"\r\n")
    stray_returns = header.count(b"\r", 0, len(header) - 1) > breaks
    if feeds > breaks or stray_returns or b"\r\n " in header or b"\r\n\t" in header:
        raise h11.RemoteProtocolError("a line break that is none, or a folded line")


def _with_origin_form_target(request: h11.Request) -> h11.Request:
    """Returns a request that names a whole URL (RFC 9112, 3.2.2) with its path and query alone; others unchanged."""
    url = _ABSOLUTE_TARGET.fullmatch(request.target)
    if url is None:
        return request
    target = url["path"] + (url["query"] or b"")
    return h11.Request(
        method=request.method, headers=request.headers, target=target, http_version=request.http_version
    )


def _asks_for_tunnel(request: h11.Request) -> bool:
    return request.method == b"CONNECT" or any(
        name == b"upgrade" and b"websocket" in value.lower() for name, value in request.headers
    )
