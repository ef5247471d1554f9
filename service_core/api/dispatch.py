"""Dispatches a request: authenticates, applies rate limits, routes, authorizes, parses, calls the handler, renders.

The order of the checks is the same for every interface: credential, request limit, path, method, mutation limit,
scope, active workspace, body and parameters, path parameters, domain rules. An expected error is an `ApiError`. Any
other exception becomes a 500 response with an id; the log contains the traceback but not its message.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from service_core.access.models import (
    AnonymousCaller,
    AuthContext,
    Caller,
    IdempotentRequest,
    RequestInterface,
    SentRequest,
    SignupCaller,
)
from service_core.access.rate_limits import RateLimits, rate_headers
from service_core.access.request_authentication import RequestAuthenticator, reject_api_key_if_oauth_required
from service_core.access.scopes import require_active_workspace, require_scope_of_operation
from service_core.analytics.ports import StoreUnavailable
from service_core.api.answer_size import (
    MAX_ANSWER_BYTES,
    answer_too_large_error,
    arguments_with_limit_that_fits_16_mb,
)
from service_core.api.bound_operation import BoundOperation
from service_core.api.http_messages import ApiRequest, ApiResponse, ArrowEncoder, JsonCodec
from service_core.api.past_operation import OpenPastOperation
from service_core.api.render import (
    PREFLIGHT_RESPONSE,
    json_default,
    json_response_with_default_headers,
    render_json_or_file_stream,
)
from service_core.api.render_table import (
    JSON_MEDIA_TYPE,
    build_table_response,
    choose_media_type,
    encode_table,
)
from service_core.api.routes import V1_PREFIX, RouteMatch, Routes
from service_core.api.schemas import AnswerMetadata
from service_core.changes.write_requirements import ApprovalRequired, has_to_plan_writes
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates, sanitize_json_bytes
from service_core.kernel.as_of_request import arguments_without_as_of, find_requested_as_of
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
)
from service_core.kernel.request_parsing import parse_body_strictly, parse_query_parameters_leniently
from service_core.kernel.row_selection import RowSelection, row_list_field_of_answer

MAX_BODY_BYTES: Final = 1_000_000
"""Most bytes of a request body. A host keeps at most one byte more."""

_TRUE_TEXTS: Final = ("true", "1")

_log: Final = logging.getLogger("touchpoint.gateway")


@dataclass(slots=True)
class _RequestState:
    """Response headers and warnings collected so far, and whether the request is a mutation; used by all responses."""

    headers: dict[str, str] = field(default_factory=dict)
    is_mutation: bool = False
    warnings: tuple[str, ...] = ()


class Dispatcher:
    """Answers requests with bound operations.

    Args:
        operations: all operations.
        authenticator: authenticates requests.
        rate_limits: counts requests and mutations.
        clock: current time.
        codec: JSON encoding and decoding.
        store_write_for_approval: stores a write that a person has to approve, and returns the answer about it.
        open_past: opens operations at the instant that ``as_of`` names; None where there are none.
    """

    def __init__(
        self,
        operations: Iterable[BoundOperation],
        *,
        authenticator: RequestAuthenticator,
        rate_limits: RateLimits,
        clock: Clock,
        codec: JsonCodec,
        encode_arrow: ArrowEncoder,
        store_write_for_approval: Callable[[Caller, ApprovalRequired], Awaitable[BaseModel]] | None = None,
        open_past: OpenPastOperation | None = None,
    ) -> None:
        self._routes = Routes(operations)
        self._authenticator = authenticator
        self._rate_limits = rate_limits
        self._clock = clock
        self._codec = codec
        self._encode_arrow = encode_arrow
        self._store_write_for_approval = store_write_for_approval
        self._open_past = open_past

    async def dispatch(self, request: ApiRequest) -> ApiResponse:
        """Returns the response of a request. Raises only when it is cancelled."""
        if request.method == "OPTIONS":
            return PREFLIGHT_RESPONSE
        match = self._routes.match_route_head_as_get(request.method, request.path)
        state = _RequestState()
        try:
            response = await self._authenticate_authorize_and_call_handler(request, match, state)
        except ApiError as api_error:
            response = self._map_log_and_render_api_error(api_error, match, state)
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an id and the log the place
            response = self._log_and_render_internal_error(error, match, state)
        return _without_body(response) if request.method == "HEAD" else response

    def route_template(self, method: str, path: str) -> str | None:
        """Returns the path template of a request's operation, or None."""
        match = self._routes.match_route_head_as_get(method, path)
        if match.bound_operation is None:
            return None
        prefix = f"/{V1_PREFIX}" if match.prefix is RoutePrefix.V1 else ""
        return prefix + match.bound_operation.operation.path

    async def _authenticate_authorize_and_call_handler(
        self, request: ApiRequest, match: RouteMatch, state: _RequestState
    ) -> ApiResponse:
        subject = await self._authenticate_and_consume_request_limit(request, match, state)
        if match.bound_operation is None:
            raise MethodNotAllowed(match.allowed_methods) if match.allowed_methods else NotFound
        operation = match.bound_operation.operation
        if subject is not None:
            await self._consume_mutation_limit_and_authorize(subject, operation, request, state)
            self._authenticator.check_internal_token_if_required(operation.credential, request.headers)
        if operation.body is not None:
            request = replace(request, body=sanitize_json_bytes(request.body))
        content = self._decode_body_up_to_1_mb(request.body, operation)
        inputs = self._parse_handler_arguments(operation, request, match.path_values, content)
        caller = self._build_caller(subject, request, operation, content)
        media_type = (
            choose_media_type(request.headers.get("accept", "")) if operation.table else JSON_MEDIA_TYPE
        )
        try:
            return await self._call_handler_at_requested_instant(
                match.bound_operation, inputs, caller, media_type, state
            )
        except ApprovalRequired as needed:
            if self._store_write_for_approval is None or not isinstance(caller, Caller):
                raise
            body = await self._store_write_for_approval(caller, needed)
        return render_json_or_file_stream(self._codec, 202, body, state.headers)

    async def _call_handler_at_requested_instant(
        self,
        bound_operation: BoundOperation,
        handler_arguments: Mapping[str, Any],
        caller: Caller | SignupCaller | AnonymousCaller,
        media_type: str,
        state: _RequestState,
    ) -> ApiResponse:
        """Calls the handler, over the facts of an earlier instant if the request names one."""
        as_of = find_requested_as_of(handler_arguments)
        if as_of is None or self._open_past is None or not isinstance(caller, Caller):
            return await self._call_handler_and_cut_rows_above_16_mb(
                bound_operation, handler_arguments, caller, media_type, state
            )
        arguments = arguments_without_as_of(handler_arguments)
        async with self._open_past(bound_operation.operation, caller, as_of) as past:
            state.warnings = past.warnings
            return await self._call_handler_and_cut_rows_above_16_mb(
                past.bound_operation, arguments, past.caller, media_type, state
            )

    async def _call_handler_and_cut_rows_above_16_mb(
        self,
        bound_operation: BoundOperation,
        handler_arguments: Mapping[str, Any],
        caller: Caller | SignupCaller | AnonymousCaller,
        media_type: str,
        state: _RequestState,
    ) -> ApiResponse:
        """Calls the handler, again with a smaller ``limit`` while the answer of a read is too large.

        Raises:
            BadRequest: ``answer_too_large``, when fewer rows do not help.
        """
        previous_bytes = None
        while True:
            result = await bound_operation.call_handler_and_wrap_result(handler_arguments, caller)
            result = self._select_row_fields(
                bound_operation.operation, result, handler_arguments.get("query")
            )
            response = await self._render_result(bound_operation.operation, result, media_type, state)
            answer_bytes = len(response.body)
            if answer_bytes <= MAX_ANSWER_BYTES or state.is_mutation:
                return response
            if previous_bytes is not None and answer_bytes >= previous_bytes:
                raise answer_too_large_error()
            handler_arguments = arguments_with_limit_that_fits_16_mb(
                handler_arguments, result.body, answer_bytes
            )
            previous_bytes = answer_bytes

    def _select_row_fields(
        self, operation: Operation, result: HandlerResponse[Any], query: Any
    ) -> HandlerResponse[Any]:
        """Returns the result with the fields of rows that the request asks for."""
        if not isinstance(query, RowSelection) or query.selects_all:
            return result
        answer = self._codec.loads(self._codec.dumps(result.body, json_default))
        return replace(
            result,
            body=query.select_fields_of_rows(
                answer, row_list_field_of_answer(operation.path, operation.answer)
            ),
        )

    async def _render_result(
        self, operation: Operation, result: HandlerResponse[Any], media_type: str, state: _RequestState
    ) -> ApiResponse:
        headers = {**state.headers, **result.headers}
        if state.warnings:
            headers["X-Warnings"] = " ".join(state.warnings)
        if operation.table is None or media_type == JSON_MEDIA_TYPE:
            body = self._add_warnings_to_meta(result.body, state.warnings)
            return render_json_or_file_stream(self._codec, result.status, body, headers)
        table = operation.table(result.body)
        table = replace(table, last_record=self._add_warnings_to_meta(table.last_record, state.warnings))
        content = await asyncio.to_thread(encode_table, table, media_type, self._codec, self._encode_arrow)
        return build_table_response(result.status, table, media_type, headers, content)

    def _add_warnings_to_meta(self, body: Any, warnings: tuple[str, ...]) -> Any:
        """Returns a body as JSON values with warnings in its metadata; without warnings the body as it is."""
        if not warnings:
            return body
        answer = self._codec.loads(self._codec.dumps(body, json_default))
        return answer | AnswerMetadata.model_validate(answer).with_warnings(warnings).model_dump()

    async def _authenticate_and_consume_request_limit(
        self, request: ApiRequest, match: RouteMatch, state: _RequestState
    ) -> AuthContext | SignupCaller | None:
        """Authenticates the request and counts it against the request limit, before its path is examined."""
        subject = request.auth_context or await self._authenticator.authenticate(
            _credential_requirement(match), request.headers
        )
        if subject is not None:
            fail_closed = (
                match.bound_operation is not None
                and match.bound_operation.operation.is_refused_without_limit_store
            )
            result = await self._rate_limits.count_request_or_raise(
                subject, refuse_if_limiter_unavailable=fail_closed
            )
            state.headers.update(rate_headers(result))
        return subject

    async def _consume_mutation_limit_and_authorize(
        self,
        subject: AuthContext | SignupCaller,
        operation: Operation,
        request: ApiRequest,
        state: _RequestState,
    ) -> None:
        """Checks the limit of mutations or that of plans, the scope, and that the workspace is active.

        A dry run counts as a mutation, but for programs that have to plan their writes: there it counts as a plan.
        """
        state.is_mutation = operation.rate_limit is RateLimitClass.MUTATION
        if operation.consumes_mutation_limit:
            has_to_plan = isinstance(subject, AuthContext) and has_to_plan_writes(subject)
            is_plan = operation.rate_limit is RateLimitClass.DRY_RUN or (
                has_to_plan and state.is_mutation and self._asks_for_dry_run(request, operation)
            )
            result = await self._rate_limits.count_mutation_or_raise(subject, is_plan=is_plan)
            state.headers["X-RateLimit-Mutation-Remaining"] = str(result.remaining)
        if isinstance(subject, SignupCaller):
            return
        reject_api_key_if_oauth_required(operation.credential, subject)
        require_scope_of_operation(subject, operation)
        if operation.requires_active_workspace:
            require_active_workspace(subject)

    def _build_caller(
        self,
        subject: AuthContext | SignupCaller | None,
        request: ApiRequest,
        operation: Operation,
        decoded_body: Any,
    ) -> Caller | SignupCaller | AnonymousCaller:
        """Returns the caller that the handler receives."""
        if subject is None:
            return AnonymousCaller(self._clock(), request.client_ip, request.headers)
        if isinstance(subject, SignupCaller):
            return subject
        return Caller(
            subject.workspace,
            subject.credential,
            self._clock(),
            request.interface,
            _idempotent_request_if_supported(operation, request, decoded_body),
            subject.acting_user,
            request.client_ip,
            request=SentRequest(
                request.method, request.path, decoded_body if isinstance(decoded_body, Mapping) else {}
            ),
        )

    def _parse_handler_arguments(
        self, operation: Operation, request: ApiRequest, path_values: Mapping[str, str], decoded_body: Any
    ) -> dict[str, Any]:
        """Returns the handler's arguments from query, body and path."""
        inputs: dict[str, Any] = {}
        if operation.query is not None:
            pairs = parse_qsl(request.query, keep_blank_values=True, errors="replace")
            cleaned = [(name, replace_nul_and_surrogates(value)) for name, value in pairs]
            inputs["query"] = parse_query_parameters_leniently(operation.query, cleaned)
        if operation.body is not None:
            inputs["body"] = parse_body_strictly(operation.body, request.body, decoded_body)
        if operation.raw:
            inputs["raw"] = request.body
        if operation.path_model is not None:
            try:
                path_values = {name: replace_nul_and_surrogates(value) for name, value in path_values.items()}
                inputs["path"] = operation.path_model.model_validate(path_values)
            except ValidationError:
                raise NotFound from None
        return inputs

    def _asks_for_dry_run(self, request: ApiRequest, operation: Operation) -> bool:
        """Returns whether a mutation only shows its change; one whose body cannot be read counts as a change."""
        in_query, in_body = (
            model is not None and "dry_run" in model.model_fields
            for model in (operation.query, operation.body)
        )
        if not (in_query or in_body):
            return False
        sent = [value for name, value in parse_qsl(request.query) if in_query and name == "dry_run"]
        if in_body and request.body and len(request.body) <= MAX_BODY_BYTES:
            try:
                body = self._codec.loads(request.body)
            except (ValueError, RecursionError):
                return False
            if isinstance(body, Mapping) and body.get("dry_run") is not None:
                return body["dry_run"] is True
        if sent:
            return sent[-1].lower() in _TRUE_TEXTS
        return request.interface is RequestInterface.MCP

    def _decode_body_up_to_1_mb(self, body: bytes, operation: Operation) -> Any:
        """Checks the body size and returns the decoded JSON body; None if the operation takes no body."""
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

    def _map_log_and_render_api_error(
        self, error: ApiError, match: RouteMatch, state: _RequestState
    ) -> ApiResponse:
        if match.bound_operation is not None and match.bound_operation.operation.map_error is not None:
            error = match.bound_operation.operation.map_error(error)
        if error.status == ServiceUnavailable.status and error.__cause__ is not None:
            _log.warning("%s: %s", error.code, _exception_types(error.__cause__))
        if state.is_mutation and type(error) is StoreUnavailable:
            error = StoreUnavailable("written")
        body = error.body() | _mutation_error_fields(state)
        return json_response_with_default_headers(
            self._codec, error.status, body, {**state.headers, **error.headers}
        )

    def _log_and_render_internal_error(
        self, error: Exception, match: RouteMatch, state: _RequestState
    ) -> ApiResponse:
        error_id = str(new_id())
        name = match.bound_operation.operation.id if match.bound_operation else "routing"
        # A message may contain a secret or personal data (SQL errors repeat parameters), so only the traceback is logged.
        traceback_text = "".join(traceback.format_tb(error.__traceback__))
        _log.error("error %s in %s: %s\n%s", error_id, name, _exception_types(error), traceback_text)
        body = {"error": "Internal server error", "code": "internal_error", "error_id": error_id}
        headers = {**state.headers, "X-Error-Id": error_id}
        return json_response_with_default_headers(
            self._codec, 500, body | _mutation_error_fields(state), headers
        )


def _credential_requirement(match: RouteMatch) -> CredentialRequirement:
    """Returns the required credential. Unknown ``/v1`` paths require a key, so that a 401 does not reveal which paths exist."""
    if match.bound_operation is None:
        return CredentialRequirement.PUBLIC if match.prefix is RoutePrefix.ROOT else CredentialRequirement.KEY
    return match.bound_operation.operation.credential


def _idempotent_request_if_supported(
    operation: Operation, request: ApiRequest, decoded_body: Any
) -> IdempotentRequest | None:
    """Returns what a retry would repeat, if the request has an ``Idempotency-Key`` that its operation honours."""
    key = request.headers.get("idempotency-key")
    return (
        IdempotentRequest(key, request.method, request.path, decoded_body)
        if key and operation.idempotent
        else None
    )


def _mutation_error_fields(state: _RequestState) -> dict[str, object]:
    """Returns extra fields for errors of mutations: not a dry run, and nothing was changed."""
    return {"dry_run": False, "applied": False} if state.is_mutation else {}


def _without_body(response: ApiResponse) -> ApiResponse:
    default_length = {"Content-Length": str(len(response.body))}  # that of a file is known already
    return replace(response, headers={**default_length, **response.headers}, body=b"", open_stream=None)


def _exception_types(error: BaseException) -> str:
    """Returns the type names of an exception and its causes, the outermost first."""
    cause = error.__cause__ or error.__context__
    return type(error).__name__ + (f" from {_exception_types(cause)}" if cause else "")
