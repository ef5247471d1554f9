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

from service_core.access.admission import Admission, require_oauth
from service_core.access.budgets import Budgets, rate_headers
from service_core.access.model import Applicant, Caller, Identity, Once, Stranger
from service_core.access.scopes import require_active, require_scope
from service_core.gateway.bound import Bound
from service_core.gateway.exchange import Codec, Request, Response
from service_core.gateway.render import PREFLIGHT, answered, json_response
from service_core.gateway.routes import PREFIX, Found, Routes
from service_core.intake.poison import clean_json, clean_text
from service_core.kernel.clock import Clock
from service_core.kernel.errors import (
    BadRequest,
    MethodNotAllowed,
    NotFound,
    Refusal,
    TooLarge,
    Unavailable503,
)
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Budget, Entry, Operation, Reply, Scope, Surface
from service_core.kernel.params import body_of, query_of

MAX_BODY: Final = 1_000_000
"""Bytes of a request body (contract 14). A host keeps at most one byte more."""

_log: Final = logging.getLogger("touchpoint.gateway")


@dataclass(slots=True)
class _Passage:
    """How far a request has come: what its answer carries, however it ends."""

    headers: dict[str, str] = field(default_factory=dict)
    changing: bool = False


class Gateway:
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
        operations: Iterable[Bound],
        *,
        admission: Admission,
        budgets: Budgets,
        clock: Clock,
        codec: Codec,
    ) -> None:
        self._routes = Routes(operations)
        self._admission = admission
        self._budgets = budgets
        self._clock = clock
        self._codec = codec

    async def dispatch(self, request: Request) -> Response:
        """Answer one request; never raises but when it is cancelled."""
        if request.method == "OPTIONS":
            return PREFLIGHT
        found = self._routes.find(request.method, request.path)
        passage = _Passage()
        try:
            reply = await self._reply(request, found, passage)
            response = answered(self._codec, reply.status, reply.answer, {**passage.headers, **reply.headers})
        except Refusal as refusal:
            response = self._refused(refusal, found, passage)
        except Exception as fault:  # noqa: BLE001 - whatever it is, the caller gets an id and the log the place
            response = self._faulted(fault, found, passage)
        return _bodiless(response) if request.method == "HEAD" else response

    def place(self, method: str, path: str) -> str | None:
        """The path template of the operation a request asks for; None when there is none."""
        found = self._routes.find(method, path)
        if found.bound is None:
            return None
        root = f"/{PREFIX}" if found.surface is Surface.V1 else ""
        return root + found.bound.operation.path

    async def _reply(self, request: Request, found: Found, passage: _Passage) -> Reply[Any]:
        asker = await self._admitted(request, found, passage)
        if found.bound is None:
            raise MethodNotAllowed(found.allow) if found.allow else NotFound
        operation = found.bound.operation
        if asker is not None:
            await self._permitted(asker, operation, passage)
            self._admission.require_internal(operation.entry, request.headers)
        if operation.body is not None:
            request = replace(request, body=clean_json(request.body))
        content = self._content(request.body, operation)
        inputs = self._inputs(operation, request, found.values, content)
        return await found.bound.call(inputs, self._who(asker, request, operation, content))

    async def _admitted(
        self, request: Request, found: Found, passage: _Passage
    ) -> Identity | Applicant | None:
        """Checks 2 and 3: the credential, and its request budget before any path is looked at."""
        asker = request.identity or await self._admission.admit(_entry(found), request.headers)
        if asker is not None:
            closed = found.bound is not None and found.bound.operation.fails_closed
            allowance = await self._budgets.spend_request(asker, fail_closed=closed)
            passage.headers.update(rate_headers(allowance))
        return asker

    async def _permitted(self, asker: Identity | Applicant, operation: Operation, passage: _Passage) -> None:
        """Checks 6 and 7: the mutation budget, the scope, and a workspace that is still active."""
        passage.changing = operation.budget is Budget.MUTATION
        if operation.spends_mutation:
            allowance = await self._budgets.spend_mutation(asker)
            passage.headers["X-RateLimit-Mutation-Remaining"] = str(allowance.remaining)
        if isinstance(asker, Applicant):
            return
        require_oauth(operation.entry, asker)
        if isinstance(operation.scope, Scope):
            require_scope(asker, operation.scope)
        if operation.is_guarded:
            require_active(asker)

    def _who(
        self, asker: Identity | Applicant | None, request: Request, operation: Operation, content: Any
    ) -> Caller | Applicant | Stranger:
        """What the handler learns of whoever asks."""
        if asker is None:
            return Stranger(self._clock(), request.client, request.headers)
        if isinstance(asker, Applicant):
            return asker
        return Caller(
            asker.workspace,
            asker.credential,
            self._clock(),
            request.via,
            _once(operation, request, content),
            asker.delegate,
            request.client,
        )

    def _inputs(
        self, operation: Operation, request: Request, values: Mapping[str, str], content: Any
    ) -> dict[str, Any]:
        """Checks 8 and 9: fields and parameters, then the form of the path."""
        inputs: dict[str, Any] = {}
        if operation.query is not None:
            pairs = parse_qsl(request.query, keep_blank_values=True, errors="replace")
            cleaned = [(name, clean_text(value)) for name, value in pairs]
            inputs["query"] = query_of(operation.query, cleaned)
        if operation.body is not None:
            inputs["body"] = body_of(operation.body, request.body, content)
        if operation.raw:
            inputs["raw"] = request.body
        if operation.path_model is not None:
            try:
                named = {name: clean_text(value) for name, value in values.items()}
                inputs["path"] = operation.path_model.model_validate(named)
            except ValidationError:
                raise NotFound from None
        return inputs

    def _content(self, body: bytes, operation: Operation) -> Any:
        """Check 8: body size and JSON; the body decoded, None where the operation takes none."""
        if len(body) > MAX_BODY:
            raise TooLarge("Payload too large. Maximum size is 1MB.", "payload_too_large")
        if operation.body is None:
            return None
        if not body and operation.body_optional:
            return {}
        try:
            return self._codec.loads(body)
        except (ValueError, RecursionError):
            raise BadRequest("The body must be a JSON object", "invalid_json") from None

    def _refused(self, refusal: Refusal, found: Found, passage: _Passage) -> Response:
        if found.bound is not None and found.bound.operation.reshape is not None:
            refusal = found.bound.operation.reshape(refusal)
        if refusal.status == Unavailable503.status and refusal.__cause__ is not None:
            _log.warning("%s: %s", refusal.code, _kinds(refusal.__cause__))
        body = refusal.body() | _nothing_done(passage)
        return json_response(self._codec, refusal.status, body, {**passage.headers, **refusal.headers})

    def _faulted(self, fault: Exception, found: Found, passage: _Passage) -> Response:
        error_id = str(new_id())
        name = found.bound.operation.id if found.bound else "routing"
        # A message may hold a secret or a person's data (SQL errors repeat parameters): only its place is kept.
        place = "".join(traceback.format_tb(fault.__traceback__))
        _log.error("fault %s in %s: %s\n%s", error_id, name, _kinds(fault), place)
        body = {"error": "Internal server error", "code": "internal_error", "error_id": error_id}
        headers = {**passage.headers, "X-Error-Id": error_id}
        return json_response(self._codec, 500, body | _nothing_done(passage), headers)


def _entry(found: Found) -> Entry:
    """The credential a place asks for: on ``/v1`` a key, so that nobody learns which paths there are."""
    if found.bound is None:
        return Entry.PUBLIC if found.surface is Surface.ROOT else Entry.KEY
    return found.bound.operation.entry


def _once(operation: Operation, request: Request, content: Any) -> Once | None:
    """What a retry of this request would repeat, when it asks to be performed once."""
    key = request.headers.get("idempotency-key")
    return Once(key, request.method, request.path, content) if key and operation.replays else None


def _nothing_done(passage: _Passage) -> dict[str, object]:
    """What an error of a mutation says besides: neither was it a dry run, nor did anything change."""
    return {"dry_run": False, "applied": False} if passage.changing else {}


def _bodiless(response: Response) -> Response:
    length = {"Content-Length": str(len(response.body))}  # that of a file is known already
    return replace(response, headers={**length, **response.headers}, body=b"", chunks=None)


def _kinds(fault: BaseException) -> str:
    """Types of a fault and its causes, the outermost first."""
    cause = fault.__cause__ or fault.__context__
    return type(fault).__name__ + (f" from {_kinds(cause)}" if cause else "")
