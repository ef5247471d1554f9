"""The declaration of a writable resource, from which its endpoints are derived."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, get_type_hints
from uuid import UUID

from pydantic import BaseModel, create_model

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.operations import requested_dry_run
from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.outside_effects import declare_reversibility
from service_core.changes.pagination import ListQuery, paginate_records
from service_core.changes.ports import ResourceRepository, Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields, plan_delete, plan_update
from service_core.changes.resource import (
    RecordReader,
    RecordStorage,
    Resource,
    ResourceType,
    State,
    keyword_only_annotations,
)
from service_core.changes.schemas import DryRunBody, DryRunQuery
from service_core.kernel.operations import HandlerResponse, Operation, RateLimitClass, operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import ResponseModel

P = TypeVar("P")

Handler = Callable[..., Awaitable[Any]]

_ROUTE = re.compile(r"(?P<collection>/[a-z/-]+)/\{(?P<parameter>(?P<name>[a-zA-Z]+)Id)\}")


@dataclass(frozen=True, slots=True)
class WriteContext(Generic[P]):
    """The context of a create or update: caller, stored records and prepared values.

    Attributes:
        caller: who writes, in which workspace, and when.
        records: live records of the workspace, read in the transaction of the write.
        prepared: what the ``prepare`` function of the resource returned; None when it has none.
        own_records: for a create, the records of the resource where they are kept; None for an update.
    """

    caller: Caller
    records: ResourceRepository
    prepared: P
    own_records: RecordStorage | None = None

    def new_fields(self) -> dict[str, Any]:
        """Returns the metadata fields of a new record."""
        return new_record_fields(self.caller)


@dataclass(frozen=True, slots=True)
class Listing:
    """The list endpoint of a resource.

    Attributes:
        doc: summary and description of the operation.
        item: answer model of a record in the list; None for the answer model of the resource.
        query: query parameters of a list with pages; None for a list that returns every record. Each
            parameter beyond `ListQuery` filters by the field of the same name.
    """

    doc: str
    item: type[BaseModel] | None = None
    query: type[ListQuery] | None = None


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """A type of resource with its endpoints, as a plugin registers it."""

    resource_type: ResourceType
    operations: tuple[Operation, ...] = ()

    def operation(self, operation_id: str) -> Operation:
        """Returns the endpoint with this id."""
        return next(candidate for candidate in self.operations if candidate.id == operation_id)

    def with_effects(self, effects: Callable[..., Awaitable[Sequence[State]]]) -> "ResourceDefinition":
        """Returns the same definition whose changes have these effects elsewhere."""
        return replace(self, resource_type=replace(self.resource_type, effects=effects))


def resource(
    resource_type: ResourceType,
    route: str,
    *,
    listing: Listing | None = None,
    get: str | None = None,
    create: Handler | None = None,
    update: Handler | None = None,
    delete: str | None = None,
    prepare: Callable[..., Any] | None = None,
    answer: type[BaseModel] | None = None,
    names: tuple[str, str] | None = None,
    label: str | None = None,
    errors: tuple[int, ...] = (),
    operations: Iterable[Operation] = (),
    are_reads_aggregate: bool = False,
) -> ResourceDefinition:
    """Returns the definition of a resource with the endpoints that are given.

    Every write can be shown by a dry run, is applied once, is recorded in the audit log and reversed by an undo.

    Args:
        resource_type: how its records are written.
        route: path of one record, e.g. ``/reports/{reportId}``. The body of a write has the field ``report``,
            the answer of the list the field ``reports``.
        listing: the list endpoint.
        get: summary and description of the endpoint that returns one record.
        create: ``async (body, write: WriteContext) -> record``, or the whole `Change` where it is more than a
            new record. Its name is the operation's id, its docstring the description.
        update: ``async (record, body, write: WriteContext) -> record``, declared like ``create``.
        delete: summary and description of the delete endpoint.
        prepare: ``(body, *, caller: Caller, ...)``, called before the transaction of a create or update. Its result is
            ``write.prepared``; its other keyword-only parameters are dependencies, matched by type.
        answer: answer model of one record; None for the stored model.
        names: singular and plural in operation ids; None for those of the route.
        label: what titles of tools call one record; None for the singular name.
        errors: statuses a create or update may answer beyond 409 and 422.
        operations: further endpoints.
        are_reads_aggregate: whether the list and one record are reads without persons, raw events and files.
    """
    endpoints = _EndpointBuilder(
        resource_type,
        route,
        prepare=prepare,
        answer=answer,
        names=names,
        label=label,
        errors=errors,
        are_reads_aggregate=are_reads_aggregate,
    )
    derived = (
        listing and endpoints.build_list(listing),
        get and endpoints.build_get(get),
        create and endpoints.build_create(create),
        update and endpoints.build_update(update),
        delete and endpoints.build_delete(delete),
    )
    return ResourceDefinition(resource_type, (*(endpoint for endpoint in derived if endpoint), *operations))


class _EndpointBuilder:
    """Builds the operations of one resource; the arguments are those of `resource`."""

    def __init__(
        self,
        resource_type: ResourceType,
        route: str,
        *,
        prepare: Callable[..., Any] | None,
        answer: type[BaseModel] | None,
        names: tuple[str, str] | None,
        label: str | None,
        errors: tuple[int, ...],
        are_reads_aggregate: bool,
    ) -> None:
        match = _ROUTE.fullmatch(route)
        if match is None:
            raise TypeError(f"{route!r} is not the path of a record, such as '/reports/{{reportId}}'")
        self._type, self._model, self._scope = resource_type, resource_type.model, resource_type.scope
        self._storage = resource_type.storage
        self._route, self._collection, self._parameter = route, match["collection"], match["parameter"]
        self._field = re.sub("([A-Z])", r"_\1", match["name"]).lower()
        self._list_field = self._collection.rpartition("/")[2].replace("-", "_")
        self._name, self._plural = names or (self._field, self._list_field)
        self._prepare, self._answer = prepare, answer or self._model
        self._label = label or self._name.replace("_", " ")
        self._errors = (409, 422, *errors)
        self._are_reads_aggregate = are_reads_aggregate
        path = f"{_camel_case(self._field)}Path"
        self._path = _derive_model(path, "Path parameters.", BaseModel, {self._parameter: UUID})

    def build_list(self, listing: Listing) -> Operation:
        item: Any = listing.item or self._answer
        cursor: Mapping[str, Any] = {"next_cursor": str | None} if listing.query else {}
        name = f"{_camel_case(self._field)}List"
        plural, singular = self._list_field.replace("_", " ").capitalize(), self._field.replace("_", " ")
        doc = f"{plural if listing.query else f'Every {singular}'}, newest first."
        answer = _derive_model(name, doc, ResponseModel, {self._list_field: list[item], **cursor})

        async def list_records(query: Any, *, caller: Caller, changes: ChangeExecutor) -> BaseModel:
            async with changes.transactions.read(caller.workspace.id) as transaction:
                records, paging = transaction.resources, {}
                if not isinstance(query, ListQuery):
                    listed = await self._storage(transaction).list_all(self._model)
                    page = [record for record in listed if record.is_visible_to(caller)]
                else:
                    page, paging["next_cursor"] = await paginate_records(
                        records,
                        self._model,
                        query,
                        caller,
                        field_filters=query.filters_by_record_field(),
                        predicate=lambda record: (
                            record.is_visible_to(caller) and query.matches(record.as_of(caller.now))
                        ),
                    )
                items = await self._serialize_as_answer_model(
                    changes, records, [record.as_of(caller.now) for record in page], item
                )
            return answer.model_validate({self._list_field: items, **paging})

        inputs = {"query": listing.query or RowSelection}
        return self._declare_operation(
            f"GET {self._collection}",
            f"list_{self._plural}",
            listing.doc,
            list_records,
            inputs=inputs,
            answer=answer,
            is_aggregate=self._are_reads_aggregate,
        )

    def build_get(self, doc: str) -> Operation:
        async def get_record(path: Any, *, caller: Caller, changes: ChangeExecutor) -> BaseModel:
            async with changes.transactions.read(caller.workspace.id) as transaction:
                records = transaction.resources
                storage = self._storage(transaction)
                record = await get_or_404(storage, self._model, self._record_id(path), caller)
                return (await self._serialize_as_answer_model(changes, records, [record], self._answer))[0]

        inputs = {"path": self._path}
        return self._declare_operation(
            f"GET {self._route}",
            f"get_{self._name}",
            doc,
            get_record,
            inputs=inputs,
            answer=self._answer,
            is_aggregate=self._are_reads_aggregate,
        )

    def build_create(self, function: Handler) -> Operation:
        async def create_record(
            body: Any, *, caller: Caller, changes: ChangeExecutor, **dependencies: Any
        ) -> HandlerResponse[Envelope]:
            new = getattr(body, self._field)
            prepared = await changes.prepare_before_transaction(
                lambda: self._run_prepare_if_any(new, caller, dependencies)
            )

            async def plan(transaction: Transaction) -> Change:
                own_records = self._storage(transaction)
                write = WriteContext(caller, transaction.resources, prepared, own_records)
                result = await function(new, write)
                return (
                    result
                    if isinstance(result, Change)
                    else Change(Action.CREATE, None, result, GENERATED_FIELDS)
                )

            return await changes.preview_or_apply_change(caller, plan, dry_run=body.dry_run)

        route = f"POST {self._collection}"
        inputs = {"body": self._wrap_request_body_model(route, function, 0)}
        return self._declare_write_operation(
            Action.CREATE, route, function, create_record, inputs, idempotent=True
        )

    def build_update(self, function: Handler) -> Operation:
        async def update_record(
            path: Any, body: Any, *, caller: Caller, changes: ChangeExecutor, **dependencies: Any
        ) -> HandlerResponse[Envelope]:
            patch = getattr(body, self._field)
            prepared = await changes.prepare_before_transaction(
                lambda: self._run_prepare_if_any(patch, caller, dependencies)
            )

            async def update(record: Resource, records: ResourceRepository) -> Resource:
                changed: Resource = await function(record, patch, WriteContext(caller, records, prepared))
                return changed

            expected = patch.expected_updated_at if isinstance(patch, VersionedBody) else None
            plan = plan_update(
                self._model,
                self._record_id(path),
                update,
                expected_updated_at=expected,
                caller=caller,
                storage=self._storage,
            )
            return await changes.preview_or_apply_change(caller, plan, dry_run=body.dry_run)

        route = f"PATCH {self._route}"
        inputs = {"path": self._path, "body": self._wrap_request_body_model(route, function, 1)}
        return self._declare_write_operation(Action.UPDATE, route, function, update_record, inputs)

    def build_delete(self, doc: str) -> Operation:
        async def delete_record(
            path: Any, query: DryRunQuery, body: DryRunBody, *, caller: Caller, changes: ChangeExecutor
        ) -> HandlerResponse[Envelope]:
            plan = plan_delete(self._model, self._record_id(path), caller, self._storage)
            return await changes.preview_or_apply_change(caller, plan, dry_run=requested_dry_run(query, body))

        return self._declare_operation(
            f"DELETE {self._route}",
            f"delete_{self._name}",
            doc,
            delete_record,
            inputs={"path": self._path, "query": DryRunQuery, "body": DryRunBody},
            answer=HandlerResponse[Envelope],
            scope=self._scope,
            rate_limit=RateLimitClass.MUTATION,
            errors=(409,),
            body_optional=True,
            reversibility=declare_reversibility(Action.DELETE, self._type),
        )

    def _record_id(self, path: BaseModel) -> UUID:
        record_id: UUID = getattr(path, self._parameter)
        return record_id

    async def _run_prepare_if_any(
        self, body: BaseModel, caller: Caller, dependencies: Mapping[str, Any]
    ) -> Any:
        if self._prepare is None:
            return None
        prepared = self._prepare(body, caller=caller, **dependencies)
        return await prepared if inspect.isawaitable(prepared) else prepared

    async def _serialize_as_answer_model(
        self,
        changes: ChangeExecutor,
        records: RecordReader,
        page: Sequence[Resource],
        answer: type[BaseModel],
    ) -> list[BaseModel]:
        """Returns the records as values of the answer model, without the fields it does not have."""
        known = {field.alias or name for name, field in answer.model_fields.items()}
        serialize = await changes.resource_types[self._model.resource_type].serializer(records, page)
        states = [serialize(record.public_state) for record in page]
        return [
            answer.model_validate({name: value for name, value in state.items() if name in known})
            for state in states
        ]

    def _wrap_request_body_model(
        self, route: str, write_function: Handler, body_position: int
    ) -> type[BaseModel]:
        """Returns the body model of a write: the model the function takes, in the field named as the resource.

        Args:
            route: for the description.
            write_function: the create or update function.
            body_position: of its parameter that takes the model.
        """
        parameter = list(inspect.signature(write_function).parameters)[body_position]
        body_model = get_type_hints(write_function)[parameter]
        name = _camel_case(write_function.__name__)
        return _derive_model(name, f"Body of `{route}`.", DryRunBody, {self._field: body_model})

    def _declare_write_operation(
        self,
        action: Action,
        route: str,
        function: Handler,
        handler: Handler,
        inputs: Mapping[str, Any],
        **options: Any,
    ) -> Operation:
        return self._declare_operation(
            route,
            function.__name__,
            inspect.getdoc(function) or "",
            handler,
            inputs=inputs,
            answer=HandlerResponse[Envelope],
            dependencies=keyword_only_annotations(self._prepare) if self._prepare else {},
            scope=self._scope,
            rate_limit=RateLimitClass.MUTATION,
            errors=self._errors,
            reversibility=declare_reversibility(action, self._type),
            **options,
        )

    def _declare_operation(
        self,
        route: str,
        name: str,
        doc: str,
        handler: Handler,
        *,
        inputs: Mapping[str, Any],
        answer: Any,
        dependencies: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Operation:
        """Returns the operation of a handler, with the signature that its inputs and dependencies make up."""
        keywords = {**(dependencies or {}), "caller": Caller, "changes": ChangeExecutor}
        handler.__name__, handler.__doc__ = name, doc
        handler.__annotations__ = {**inputs, **keywords, "return": answer}
        handler.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                *(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in inputs),
                *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in keywords),
            ]
        )
        title = name.removeprefix("list_").removeprefix("get_").replace(self._name, self._label)
        return operation(
            route,
            tag=self._collection.split("/")[1],
            tool_title=title.replace("_", " ").capitalize(),
            **options,
        )(handler)


def _derive_model(name: str, doc: str, base: type[BaseModel], fields: Mapping[str, Any]) -> type[BaseModel]:
    """Returns a subclass of a model with further required fields."""
    required: dict[str, Any] = {field: (type_, ...) for field, type_ in fields.items()}
    return create_model(name, __base__=base, __doc__=doc, **required)


def _camel_case(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))
