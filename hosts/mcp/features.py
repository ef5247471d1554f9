"""Tools, prompts, resources and methods that a deployment adds to the MCP server besides the operations of the API.

A feature answers requests through a `FeatureCall`, which does what differs between revisions of the protocol:
notifications and requests to the client are events of the answer, and input of the person is asked for by a request
(revisions with handshake) or by an answer that the client repeats with the input (stateless revision).
"""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

import orjson

from hosts.mcp.jsonrpc import INVALID_PARAMS, JsonRpcError, JsonRpcRequest
from hosts.mcp.protocol import (
    CAPABILITIES_KEY,
    HANDSHAKE_METHODS,
    LOG_LEVEL_KEY,
    missing_capability_error,
)
from service_core.access.models import AuthContext

CAPABILITY_BY_CLIENT_METHOD: Final[Mapping[str, str]] = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""Method of a request to the client to the capability that the client must declare."""

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Feature:
    """A tool or prompt.

    Attributes:
        entry: how it is listed.
        answer: answers a call.
    """

    entry: Mapping[str, Any]
    answer: Callable[["FeatureCall"], Awaitable[Result]]


@dataclass(frozen=True, slots=True)
class McpFeatures:
    """The features of a deployment; by default none.

    Attributes:
        capabilities: added to those of the server.
        handshake_capabilities: added in revisions with handshake, such as ``logging``.
        tools, prompts: by name.
        resources, resource_templates: how they are listed.
        read_resource: returns the contents at an address; None if there is none.
        methods: answers of further methods.
    """

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    handshake_capabilities: Mapping[str, Any] = field(default_factory=dict)
    tools: Mapping[str, Feature] = field(default_factory=dict)
    prompts: Mapping[str, Feature] = field(default_factory=dict)
    resources: Sequence[Mapping[str, Any]] = ()
    resource_templates: Sequence[Mapping[str, Any]] = ()
    read_resource: Callable[[str], Sequence[Mapping[str, Any]] | None] = lambda _: None
    methods: Mapping[str, Callable[["FeatureCall"], Awaitable[Result]]] = field(default_factory=dict)

    def add_builtin(
        self,
        prompts: Mapping[str, Feature],
        resources: Sequence[Mapping[str, Any]],
        resource_templates: Sequence[Mapping[str, Any]],
        read_resource: Callable[[str], Sequence[Mapping[str, Any]] | None],
    ) -> "McpFeatures":
        """Returns the features with prompts and resources of the server after those of the deployment."""
        own = self.read_resource

        def read_own_or_builtin(uri: str) -> Sequence[Mapping[str, Any]] | None:
            contents = own(uri)
            return read_resource(uri) if contents is None else contents

        return replace(
            self,
            prompts={**self.prompts, **prompts},
            resources=(*self.resources, *resources),
            resource_templates=(*self.resource_templates, *resource_templates),
            read_resource=read_own_or_builtin,
        )

    def without_write_tools(self) -> "McpFeatures":
        """Returns the features without tools that do not declare ``readOnlyHint``."""
        reads = {
            name: tool
            for name, tool in self.tools.items()
            if tool.entry.get("annotations", {}).get("readOnlyHint") is True
        }
        return replace(self, tools=reads)

    def find_answer(
        self, call: JsonRpcRequest, *, stateless: bool
    ) -> Callable[["FeatureCall"], Awaitable[Result]] | None:
        """Returns what answers a request; None if no feature does, or the stateless revision lacks the method."""
        if stateless and call.method in HANDSHAKE_METHODS:
            return None
        features = {"tools/call": self.tools, "prompts/get": self.prompts}.get(call.method)
        if features is not None:
            feature = features.get(str(call.params.get("name")))
            return feature.answer if feature else None
        if call.method == "resources/read":
            contents = self.read_resource(str(call.params.get("uri")))
            return None if contents is None else _always({"contents": contents})
        return self.methods.get(call.method)

    def list_entries(self, method: str) -> Sequence[Mapping[str, Any]]:
        """Returns the entries of a list method."""
        return {
            "tools/list": [tool.entry for tool in self.tools.values()],
            "prompts/list": [prompt.entry for prompt in self.prompts.values()],
            "resources/list": self.resources,
            "resources/templates/list": self.resource_templates,
        }.get(method, ())


class ClientRequests:
    """Requests to clients that wait for a response, in this process."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[UUID, str], asyncio.Future[Result]] = {}

    async def send_and_wait(
        self, identity: AuthContext, method: str, params: Result, send: Callable[[Result], None]
    ) -> Result:
        """Sends a request and returns its result.

        Raises:
            JsonRpcError: the client refused it.
        """
        key = identity.credential.id, secrets.token_urlsafe(16)
        self._waiting[key] = waiting = asyncio.get_running_loop().create_future()
        try:
            send({"jsonrpc": "2.0", "id": key[1], "method": method, "params": params})
            result: Result = await waiting
            return result
        finally:
            del self._waiting[key]

    def deliver_response(self, identity: AuthContext, body: bytes) -> None:
        """Hands the response in a body to whoever waits for it; others are ignored."""
        message = orjson.loads(body)
        waiting = self._waiting.get((identity.credential.id, str(message.get("id"))))
        if waiting is None or waiting.done():
            return
        if isinstance(message.get("result"), Mapping):
            waiting.set_result(message["result"])
        else:
            waiting.set_exception(JsonRpcError(INVALID_PARAMS, "The client refused the request"))


class FeatureCall:
    """One request to a feature.

    Args:
        request: the request.
        identity: whose token was sent.
        client_requests: sends requests to the client.
        stateless: whether the request belongs to the stateless revision.
    """

    def __init__(
        self,
        request: JsonRpcRequest,
        identity: AuthContext,
        client_requests: ClientRequests,
        *,
        stateless: bool,
    ) -> None:
        self.request = request
        self.stateless = stateless
        self._identity = identity
        self._client_requests = client_requests
        self._messages: asyncio.Queue[Result | None] = asyncio.Queue()

    @property
    def arguments(self) -> Result:
        """The arguments of the call."""
        arguments = self.request.params.get("arguments")
        return arguments if isinstance(arguments, Mapping) else {}

    @property
    def meta(self) -> Result:
        """The ``_meta`` of the request."""
        meta = self.request.params.get("_meta")
        return meta if isinstance(meta, Mapping) else {}

    def notify(self, method: str, params: Result) -> None:
        """Sends a notification as an event of the answer."""
        self._messages.put_nowait({"jsonrpc": "2.0", "method": method, "params": params})

    def log(self, level: str, data: Any) -> None:
        """Sends a log message; in the stateless revision only if the request asks for log messages."""
        if not self.stateless or LOG_LEVEL_KEY in self.meta:
            self.notify("notifications/message", {"level": level, "data": data})

    def report_progress(self, progress: float, total: float) -> None:
        """Sends the progress if the request has a progress token."""
        token = self.meta.get("progressToken")
        if token is not None:
            self.notify(
                "notifications/progress", {"progressToken": token, "progress": progress, "total": total}
            )

    async def request_client(self, method: str, params: Result) -> Result:
        """Sends a request to the client within the answer and returns its result; not in the stateless revision.

        Raises:
            JsonRpcError: the client refused it.
        """
        return await self._client_requests.send_and_wait(
            self._identity, method, params, self._messages.put_nowait
        )

    def client_supports(self, method: str) -> bool:
        """Returns whether the client declares the capability for a request, in the stateless revision."""
        capabilities = self.meta.get(CAPABILITIES_KEY)
        return isinstance(capabilities, Mapping) and CAPABILITY_BY_CLIENT_METHOD[method] in capabilities

    def input_responses(self, *names: str) -> Result | None:
        """Returns the responses to input requests; None if one of these is missing, so that it is asked for again."""
        responses = self.request.params.get("inputResponses")
        if not isinstance(responses, Mapping):
            return None
        complete = all(isinstance(responses.get(name), Mapping) for name in names)
        return responses if complete else None

    def require_input(self, requests: Mapping[str, Result], state: Any = None) -> Result:
        """Returns the result that asks the client for input.

        Args:
            requests: method and parameters of requests to the client, by name.
            state: JSON value that `read_state` returns when the client repeats the request; None for none.

        Raises:
            JsonRpcError: the client does not declare a capability that is needed.
        """
        for request in requests.values():
            if not self.client_supports(request["method"]):
                capability = CAPABILITY_BY_CLIENT_METHOD[request["method"]]
                raise missing_capability_error(capability, self.request.id)
        result = {"resultType": "input_required", "inputRequests": requests}
        return result if state is None else result | {"requestState": self._seal(orjson.dumps(state))}

    def read_state(self) -> Any:
        """Returns the state of the earlier answer; None if the request has none.

        Raises:
            JsonRpcError: the state was changed, or belongs to another call.
        """
        sent = self.request.params.get("requestState")
        if sent is None:
            return None
        try:
            content = base64.urlsafe_b64decode(str(sent).partition(".")[0].encode())
        except (binascii.Error, ValueError):
            content = b""
        if not hmac.compare_digest(self._seal(content).encode(), str(sent).encode()):
            raise JsonRpcError(INVALID_PARAMS, "requestState was changed", self.request.id)
        return orjson.loads(content)

    def _seal(self, content: bytes) -> str:
        bound = f"{self._identity.credential.id}:{self.request.method}:{self.request.params.get('name')}:"
        mac = hmac.new(self._identity.workspace.secret, b"mcp-state:" + bound.encode() + content, "sha256")
        return f"{base64.urlsafe_b64encode(content).decode()}.{mac.hexdigest()}"

    async def answer_or_stream(
        self, answer: Callable[["FeatureCall"], Awaitable[Result]], render: Callable[[Result], bytes]
    ) -> bytes | AsyncIterator[bytes]:
        """Returns the rendered result, or the events of the answer if a message is sent before it.

        Args:
            answer: of the feature.
            render: renders the result as a message.

        Raises:
            JsonRpcError: of the feature, before any message.
        """
        task = asyncio.ensure_future(answer(self))
        task.add_done_callback(lambda _: self._messages.put_nowait(None))
        first = await self._messages.get()
        return render(task.result()) if first is None else self._stream_result(first, task, render)

    async def _stream_result(
        self, first: Result, task: asyncio.Future[Result], render: Callable[[Result], bytes]
    ) -> AsyncIterator[bytes]:
        message: Result | None = first
        try:
            while message is not None:
                yield _event(orjson.dumps(message))
                message = await self._messages.get()
            yield _event(render(task.result()))
        finally:
            task.cancel()


def _event(message: bytes) -> bytes:
    return b"event: message\ndata: " + message + b"\n\n"


def _always(result: Result) -> Callable[[FeatureCall], Awaitable[Result]]:
    async def answer(_: FeatureCall) -> Result:
        return result

    return answer
