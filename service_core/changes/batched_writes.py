"""Runs several writes, given as requests, by their own operations in one transaction."""

import json
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, TypeVar, cast
from uuid import UUID

from pydantic import Field, ValidationError

from service_core.access.models import Caller
from service_core.access.scopes import require_scope
from service_core.changes.change_executor import Answer, BatchOutcome, ChangeExecutor, ChangePlanner
from service_core.changes.envelope import Envelope
from service_core.changes.models import Change
from service_core.changes.ports import ResourceRepository, Transaction
from service_core.changes.resource import Resource
from service_core.kernel.errors import ApiError, BadRequest, NotFound
from service_core.kernel.ids import new_id
from service_core.kernel.operations import HandlerResponse, Operation, RateLimitClass, Scope
from service_core.kernel.request_parsing import parse_body_strictly, parse_query_parameters_leniently
from service_core.kernel.schemas import BodyModel
from service_core.kernel.timestamps import format_timestamp

_V1: Final = "/v1"
_REFERENCE: Final = re.compile(r"\$changes\[(\d+)\]\.id")
_SECRET_FIELDS: Final = frozenset({"credentials", "password"})
"""Fields of a record in a request that a plan must not have, because plans are stored."""

_Record = TypeVar("_Record", bound=Resource)


class WriteRequest(BodyModel):
    """One write of a change set, as its request would be sent."""

    method: str = Field(description="POST, PATCH or DELETE.")
    path: str = Field(description="Path of the write, such as /links.")
    body: dict[str, Any] = Field(
        default_factory=dict,
        description="Its body without dry_run. `$changes[0].id` stands for the id that an earlier change creates.",
    )


@dataclass(frozen=True, slots=True)
class MatchedWrite:
    """The operation of a request, with its dependencies and the parameters of its path."""

    operation: Operation
    dependencies: Mapping[str, object]
    caller_parameter: str | None
    path_values: Mapping[str, str]


class WriteRoutes:
    """Finds the operation of a write; composition connects it once all operations are known."""

    def __init__(self) -> None:
        self._find: Callable[[str, str], MatchedWrite | None] = lambda _method, _path: None

    def connect(self, find: Callable[[str, str], MatchedWrite | None]) -> None:
        """Sets how the operation of a method and path is found."""
        self._find = find

    def find_or_404(self, request: WriteRequest, *, with_batches: bool = False) -> MatchedWrite:
        """Returns the operation of a request, if it is a write that can be planned.

        Args:
            request: the write.
            with_batches: whether operations that make several changes count.

        Raises:
            NotFound: no operation has this path.
            BadRequest: ``invalid_parameter``, the operation is no write with a plan.
        """
        path = request.path if request.path.startswith(f"{_V1}/") else _V1 + request.path
        match = self._find(request.method.upper(), path)
        if match is None:
            raise NotFound
        is_write = match.operation.rate_limit is RateLimitClass.MUTATION
        if not is_write or not (with_batches or match.operation.answer is Envelope):
            raise BadRequest(
                "This operation is no write that can be planned", "invalid_parameter", field="path"
            )
        return match


@dataclass(frozen=True, slots=True)
class AppliedWrite:
    """A write of a batch: its change, what a dry run shows of it, and its answer."""

    change: Change
    preview: Envelope
    envelope: Envelope


class BatchExecutor(ChangeExecutor):
    """Applies changes within a transaction that is open already, and keeps them.

    Plans and approvals were checked before; warnings are listed after the transaction, because they read events.

    Args:
        executor: of the deployment.
        transaction: of the batch.
        prepared: position of a write -> what `prepare_writes` returned for it.
    """

    def __init__(
        self,
        executor: ChangeExecutor,
        transaction: Transaction,
        prepared: Mapping[int, Any] = MappingProxyType({}),
    ) -> None:
        super().__init__(executor.transactions, executor.resource_types.values())
        self._prepared = prepared
        self.reads: Final[dict[str, str]] = {}
        resources = cast(ResourceRepository, _RecordingResources(transaction.resources, self.reads))
        self._transaction = replace(transaction, resources=resources)
        self.writes: Final[list[AppliedWrite]] = []

    async def prepare_before_transaction(
        self,
        prepare: Callable[[], Awaitable[Any]],  # noqa: ARG002 - it was called before the transaction
    ) -> Any:
        """Returns what was read for the current write before the transaction.

        Raises:
            ApiError: the write was refused then.
        """
        prepared = self._prepared[len(self.writes)]
        if isinstance(prepared, ApiError):
            raise prepared
        return prepared

    async def preview_or_apply_change(
        self,
        caller: Caller,
        planner: ChangePlanner,
        *,
        dry_run: bool | None,  # noqa: ARG002 - the transaction of the batch decides
    ) -> HandlerResponse[Envelope]:
        """Applies a change in the transaction of the batch."""
        change = await planner(self._transaction)
        preview = await self.preview_in_transaction(caller, self._transaction, change)
        envelope = await self.apply_in_transaction(caller, self._transaction, change)
        self.writes.append(AppliedWrite(change, preview, envelope))
        return HandlerResponse(envelope, 200)

    async def preview_or_apply_batch(
        self,
        caller: Caller,  # noqa: ARG002 - as `ChangeExecutor.preview_or_apply_batch`
        answer: type[Answer],  # noqa: ARG002 - likewise
        run_batch: Callable[[Transaction], Awaitable[BatchOutcome[Answer]]],
        *,
        dry_run: bool,  # noqa: ARG002 - the transaction of the batch decides
        is_planned: bool = False,  # noqa: ARG002 - likewise
    ) -> HandlerResponse[Answer]:
        """Applies the changes of a batch within this one."""
        outcome = await run_batch(self._transaction)
        for change, diff in zip(outcome.changes, outcome.diffs, strict=True):
            envelope = Envelope(dry_run=False, applied=True, diff=diff)
            self.writes.append(AppliedWrite(change, envelope, envelope))
        return HandlerResponse(outcome.answer, 200)


class _Prepared(Exception):
    """Ends a write after it was prepared.

    Args:
        value: what it read.
    """

    def __init__(self, value: Any = None) -> None:
        super().__init__()
        self.value = value


class _PreparingExecutor(ChangeExecutor):
    """Lets operations read what they need before a transaction, and makes no change."""

    async def prepare_before_transaction(self, prepare: Callable[[], Awaitable[Any]]) -> Any:
        raise _Prepared(await prepare())

    async def preview_or_apply_change(
        self,
        caller: Caller,  # noqa: ARG002 - as `ChangeExecutor.preview_or_apply_change`
        planner: ChangePlanner,  # noqa: ARG002 - likewise
        *,
        dry_run: bool | None,  # noqa: ARG002 - likewise
    ) -> HandlerResponse[Envelope]:
        raise _Prepared


class _RecordingResources:
    """Resources of a transaction; notes the version of each record that was read by its id."""

    def __init__(self, resources: ResourceRepository, versions: dict[str, str]) -> None:
        self._resources, self._versions = resources, versions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._resources, name)

    async def get(self, model: type[_Record], resource_id: UUID) -> _Record | None:
        record = await self._resources.get(model, resource_id)
        if record is not None:
            self._note(record)
        return record

    async def get_many(self, model: type[_Record], ids: Collection[UUID]) -> dict[UUID, _Record]:
        records = await self._resources.get_many(model, ids)
        for record in records.values():
            self._note(record)
        return records

    def _note(self, record: Resource) -> None:
        self._versions.setdefault(str(record.id), format_timestamp(record.updated_at))


async def prepare_writes(
    caller: Caller, executor: ChangeExecutor, routes: WriteRoutes, requests: Sequence[WriteRequest]
) -> dict[int, Any]:
    """Returns what writes read before their transaction, or the error that refuses them, by their position.

    The id of a record that an earlier write creates is not known yet: a new id stands for it.

    Args:
        caller: who makes the changes.
        executor: of the deployment.
        routes: finds the operations.
        requests: the writes.
    """
    preparing = _PreparingExecutor(executor.transactions, executor.resource_types.values())
    prepared: dict[int, Any] = {}
    placeholders = [str(new_id()) for _ in requests]
    for position, request in enumerate(requests):
        try:
            resolved = _with_ids(request, placeholders[:position])
            await _apply_write(caller, preparing, routes.find_or_404(resolved), resolved)
        except _Prepared as done:
            prepared[position] = done.value
        except ApiError as refusal:
            prepared[position] = refusal
    return prepared


async def apply_writes_in_transaction(
    caller: Caller,
    executor: BatchExecutor,
    routes: WriteRoutes,
    requests: Sequence[WriteRequest],
    *,
    with_batches: bool = False,
) -> list[Any]:
    """Applies requests one after another by their operations and returns their answers.

    Args:
        caller: who makes the changes.
        executor: of the transaction.
        routes: finds the operations.
        requests: the writes.
        with_batches: whether operations that make several changes are accepted.

    Raises:
        ApiError: of the first write that is refused; ``change_index`` tells which.
    """
    answers: list[Any] = []
    for index, request in enumerate(requests):
        created = [str(write.change.resource.id) for write in executor.writes]
        try:
            match = routes.find_or_404(_with_ids(request, created), with_batches=with_batches)
            answers.append(await _apply_write(caller, executor, match, _with_ids(request, created)))
        except ApiError as refusal:
            refusal.extra = {**refusal.extra, "change_index": index}
            raise
        if not with_batches and len(executor.writes) != index + 1:
            raise BadRequest("This operation is no write that can be planned", "invalid_parameter")
    return answers


async def _apply_write(
    caller: Caller, executor: ChangeExecutor, match: MatchedWrite, request: WriteRequest
) -> Any:
    operation = match.operation
    if isinstance(operation.scope, Scope):
        require_scope(caller, operation.scope)
    arguments: dict[str, Any] = {
        name: executor if isinstance(value, ChangeExecutor) else value
        for name, value in match.dependencies.items()
    }
    if match.caller_parameter:
        arguments[match.caller_parameter] = replace(caller, idempotency=None)
    if operation.query is not None:
        arguments["query"] = parse_query_parameters_leniently(operation.query, [])
    if operation.body is not None:
        _refuse_secrets(request.body)
        body = {**request.body, "dry_run": False}
        arguments["body"] = parse_body_strictly(operation.body, json.dumps(body).encode(), body)
    if operation.path_model is not None:
        try:
            arguments["path"] = operation.path_model.model_validate(match.path_values)
        except ValidationError:
            raise NotFound from None
    result = await operation.handler(**arguments)
    return result.body if isinstance(result, HandlerResponse) else result


def _refuse_secrets(body: Mapping[str, Any]) -> None:
    for record in body.values():
        if isinstance(record, Mapping) and any(record.get(name) for name in _SECRET_FIELDS):
            raise BadRequest(
                "A plan is stored, so that no write of it can have credentials or a password",
                "invalid_parameter",
                field="changes",
                hint="Send this write by itself.",
            )


def _with_ids(request: WriteRequest, created: Sequence[str]) -> WriteRequest:
    """Returns the request with the ids that its references stand for."""

    def resolve(reference: re.Match[str]) -> str:
        position = int(reference[1])
        if position >= len(created):
            raise BadRequest("A change refers to one that comes later", "invalid_parameter", field="changes")
        return created[position]

    return WriteRequest(
        method=request.method,
        path=_REFERENCE.sub(resolve, request.path),
        body=json.loads(_REFERENCE.sub(resolve, json.dumps(request.body))),
    )
