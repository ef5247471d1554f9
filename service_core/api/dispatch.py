"""The one door: every request of every host walks the same checks in the same order (contract 2.1).

credential -> request budget -> path -> method -> mutation budget -> scope -> workspace -> body and
parameters -> resource of the path -> rules of the domain. What goes wrong on the way is a `Refusal`;
anything else that escapes a handler is a fault with an id, and the log holds no message of it.
"""

import logging
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl

from pydantic import ValidationError

from service_core.access.models import AnonymousCaller, AuthContext, Caller, IdempotentRequest, SignupCaller
from service_core.access.rate_limits import RateLimits, rate_headers
from service_core.access.request_authentication import RequestAuthenticator, require_oauth
from service_core.access.scopes import require_active, require_scope
from service_core.api.bound_operation import BoundOperation
from service_core.api.http_messages import ApiRequest, ApiResponse, JsonCodec
from service_core.api.render import PREFLIGHT_RESPONSE, json_response, render_result
from service_core.api.routes import V1_PREFIX, RouteMatch, Routes
from service_core.ingestion.sanitize_json import sanitize_json_bytes, sanitize_text
from service_core.kernel.clock import Clock
from service_core.kernel.errors import (
    ApiError,
    BadRequest,
    MethodNotAllowed,
    NotFound,
    PayloadTooLarge,
    ServiceUnavailable,
)
from service_core.kernel.ids import new_id
from service_core.kernel.operations import (
    CredentialRequirement,
    HandlerResponse,
    Operation,
    RateLimitClass,
    RoutePrefix,
    Scope,
)
from service_core.kernel.schemas import parse_body, parse_query_parameters

MAX_BODY_BYTES: Final = 1_000_000
"""Bytes of a request body (contract 14). A host keeps at most one byte more."""

_log: Final = logging.getLogger("touchpoint.gateway")


@dataclass(slots=True)
class _RequestState:
    """How far a request has come: what its answer carries, however it ends."""

    headers: dict[str, str] = field(default_factory=dict)
    is_mutation: bool = False


class Dispatcher:
    """Answers requests from bound operations.

    Args:
        operations: everything that can be asked.
        admission: headers -> who is asking.
        budgets: what whoever asks may still spend.
        clock: gives the present to callers.
        codec: JSON in and out.
    """

    def __init__(
        self,
        operations: Iterable[BoundOperation],
        *,
        admission: RequestAuthenticator,
        budgets: RateLimits,
        clock: Clock,
        codec: JsonCodec,
    ) -> None:
        self._routes = Routes(operations)
        self._admission = admission
        self._budgets = budgets
        self._clock = clock
        self._codec = codec

    async def dispatch(self, request: ApiRequest) -> ApiResponse:
        """Answer one request; never raises but when it is cancelled."""
        if request.method == "OPTIONS":
            return PREFLIGHT_RESPONSE
        found = self._routes.match(request.method, request.path)
        passage = _RequestState()
        try:
            reply = await self._handle(request, found, passage)
            response = render_result(
                self._codec, reply.status, reply.body, {**passage.headers, **reply.headers}
            )
        except ApiError as refusal:
            response = self._render_api_error(refusal, found, passage)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the caller gets an id and the log the place
            response = self._render_internal_error(fault, found, passage)
        return _without_body(response) if request.method == "HEAD" else response

    def route_template(self, method: str, path: str) -> str | None:
        """The path template of the operation a request asks for; None when there is none."""
        found = self._routes.match(method, path)
        if found.operation is None:
            return None
        root = f"/{V1_PREFIX}" if found.prefix is RoutePrefix.V1 else ""
        return root + found.operation.operation.path

    async def _handle(
        self, request: ApiRequest, found: RouteMatch, passage: _RequestState
    ) -> HandlerResponse[Any]:
        asker = await self._authenticate(request, found, passage)
        if found.operation is None:
            raise MethodNotAllowed(found.allowed_methods) if found.allowed_methods else NotFound
        operation = found.operation.operation
        if asker is not None:
            await self._authorize(asker, operation, passage)
            self._admission.require_internal_token(operation.credential, request.headers)
        if operation.body is not None:
            request = replace(request, body=sanitize_json_bytes(request.body))
        content = self._decode_body(request.body, operation)
        inputs = self._parse_inputs(operation, request, found.path_values, content)
        return await found.operation.call(inputs, self._build_caller(asker, request, operation, content))

    async def _authenticate(
        self, request: ApiRequest, found: RouteMatch, passage: _RequestState
    ) -> AuthContext | SignupCaller | None:
        """Checks 2 and 3: the credential, and its request budget before any path is looked at."""
        asker = request.auth_context or await self._admission.authenticate(
            _credential_requirement(found), request.headers
        )
        if asker is not None:
            closed = found.operation is not None and found.operation.operation.fails_closed
            allowance = await self._budgets.consume_request(asker, fail_closed=closed)
            passage.headers.update(rate_headers(allowance))
        return asker

    async def _authorize(
        self, asker: AuthContext | SignupCaller, operation: Operation, passage: _RequestState
    ) -> None:
        """Checks 6 and 7: the mutation budget, the scope, and a workspace that is still active."""
        passage.is_mutation = operation.rate_limit is RateLimitClass.MUTATION
        if operation.consumes_mutation_limit:
            allowance = await self._budgets.consume_mutation(asker)
            passage.headers["X-RateLimit-Mutation-Remaining"] = str(allowance.remaining)
        if isinstance(asker, SignupCaller):
            return
        require_oauth(operation.credential, asker)
        if isinstance(operation.scope, Scope):
            require_scope(asker, operation.scope)
        if operation.requires_active_workspace:
            require_active(asker)

    def _build_caller(
        self,
        asker: AuthContext | SignupCaller | None,
        request: ApiRequest,
        operation: Operation,
        content: Any,
    ) -> Caller | SignupCaller | AnonymousCaller:
        """What the handler learns of whoever asks."""
        if asker is None:
            return AnonymousCaller(self._clock(), request.client_ip, request.headers)
        if isinstance(asker, SignupCaller):
            return asker
        return Caller(
            asker.workspace,
            asker.credential,
            self._clock(),
            request.interface,
            _idempotent_request(operation, request, content),
            asker.acting_user,
            request.client_ip,
        )

    def _parse_inputs(
        self, operation: Operation, request: ApiRequest, values: Mapping[str, str], content: Any
    ) -> dict[str, Any]:
        """Checks 8 and 9: fields and parameters, then the form of the path."""
        inputs: dict[str, Any] = {}
        if operation.query is not None:
            pairs = parse_qsl(request.query, keep_blank_values=True, errors="replace")
            cleaned = [(name, sanitize_text(value)) for name, value in pairs]
            inputs["query"] = parse_query_parameters(operation.query, cleaned)
        if operation.body is not None:
            inputs["body"] = parse_body(operation.body, request.body, content)
        if operation.raw:
            inputs["raw"] = request.body
        if operation.path_model is not None:
            try:
                named = {name: sanitize_text(value) for name, value in values.items()}
                inputs["path"] = operation.path_model.model_validate(named)
            except ValidationError:
                raise NotFound from None
        return inputs

    def _decode_body(self, body: bytes, operation: Operation) -> Any:
        """Check 8: body size and JSON; the body decoded, None where the operation takes none."""
        if len(body) > MAX_BODY_BYTES:
            raise PayloadTooLarge("Payload too large. Maximum size is 1MB.", "payload_too_large")
        if operation.body is None:
            return None
        if not body and operation.body_optional:
            return {}
        try:
            return self._codec.loads(body)
        except (ValueError, RecursionError):
            raise BadRequest("The body must be a JSON object", "invalid_json") from None

    def _render_api_error(self, refusal: ApiError, found: RouteMatch, passage: _RequestState) -> ApiResponse:
        if found.operation is not None and found.operation.operation.map_error is not None:
            refusal = found.operation.operation.map_error(refusal)
        if refusal.status == ServiceUnavailable.status and refusal.__cause__ is not None:
            _log.warning("%s: %s", refusal.code, _exception_types(refusal.__cause__))
        body = refusal.body() | _mutation_error_fields(passage)
        return json_response(self._codec, refusal.status, body, {**passage.headers, **refusal.headers})

    def _render_internal_error(
        self, fault: Exception, found: RouteMatch, passage: _RequestState
    ) -> ApiResponse:
        error_id = str(new_id())
        name = found.operation.operation.id if found.operation else "routing"
        # A message may hold a secret or a person's data (SQL errors repeat parameters): only its place is kept.
        place = "".join(traceback.format_tb(fault.__traceback__))
        _log.error("fault %s in %s: %s\n%s", error_id, name, _exception_types(fault), place)
        body = {"error": "Internal server error", "code": "internal_error", "error_id": error_id}
        headers = {**passage.headers, "X-Error-Id": error_id}
        return json_response(self._codec, 500, body | _mutation_error_fields(passage), headers)


def _credential_requirement(found: RouteMatch) -> CredentialRequirement:
    """The credential a place asks for: on ``/v1`` a key, so that nobody learns which paths there are."""
    if found.operation is None:
        return CredentialRequirement.PUBLIC if found.prefix is RoutePrefix.ROOT else CredentialRequirement.KEY
    return found.operation.operation.credential


def _idempotent_request(operation: Operation, request: ApiRequest, content: Any) -> IdempotentRequest | None:
    """What a retry of this request would repeat, when it asks to be performed once."""
    key = request.headers.get("idempotency-key")
    return (
        IdempotentRequest(key, request.method, request.path, content)
        if key and operation.idempotent
        else None
    )


def _mutation_error_fields(passage: _RequestState) -> dict[str, object]:
    """What an error of a mutation says besides: neither was it a dry run, nor did anything change."""
    return {"dry_run": False, "applied": False} if passage.is_mutation else {}


def _without_body(response: ApiResponse) -> ApiResponse:
    length = {"Content-Length": str(len(response.body))}  # that of a file is known already
    return replace(response, headers={**length, **response.headers}, body=b"", open_stream=None)


def _exception_types(fault: BaseException) -> str:
    """Types of a fault and its causes, the outermost first."""
    cause = fault.__cause__ or fault.__context__
    return type(fault).__name__ + (f" from {_exception_types(cause)}" if cause else "")
