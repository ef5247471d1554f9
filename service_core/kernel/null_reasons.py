"""Why a number of an answer is null: declared on its field, and listed in ``unavailable`` of the answer.

A number that was not measured is null with a reason, never zero. A response model declares the reason in the annotation
of the field, and `ListsNullReasons` fills the list from the declarations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self

from pydantic import BaseModel, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from service_core.kernel.availability import UnavailableReason
from service_core.kernel.schemas import ResponseModel


class UnavailableMetric(ResponseModel):
    """A metric or field without a value, and the reason; never zero."""

    metric: str
    reason: UnavailableReason


@dataclass(frozen=True, slots=True)
class NullReason:
    """Why a field is null. Used in an annotation, ``Annotated[Decimal | None, NullReason(...)]``.

    Attributes:
        reason: the reason to list; None for a null that needs none.
        computed_from: fields of the same object; the reason is listed only if one of them is null, too. A quotient whose
            operands are known is null because it divides by zero.
        is_listed_by_operation: whether the operation lists the reason itself, for the field and for objects in it.
    """

    reason: UnavailableReason | None
    computed_from: tuple[str, ...] = ()
    is_listed_by_operation: bool = False


WITHOUT_RATE: Final = NullReason(UnavailableReason.MISSING_FX_RATE)
"""Money that contains an amount in another currency for which there is no exchange rate."""

NOT_REPORTED: Final = NullReason(UnavailableReason.INSUFFICIENT_DATA)
"""A number that the platform or provider does not report."""

KNOWN_NULL: Final = NullReason(None)
"""A null that is known: a division by zero, a limit that does not exist, or a value that was never due."""

LISTED_BY_OPERATION: Final = NullReason(None, is_listed_by_operation=True)
"""The operation lists the reason of the measurement. On a field with objects it covers all their fields."""

NULL_FIELD_REASONS: Final[Any] = Field(
    default_factory=list, description="Fields that are null somewhere in the answer, each with its reason."
)
"""Default of the field ``unavailable`` of `ListsNullReasons`."""


class ListsNullReasons(ResponseModel):
    """A response with a field ``unavailable``, to which the declared reasons of its null fields are added."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        reference = handler(schema)
        handler.resolve_ref_schema(reference)["required"].append("unavailable")
        return reference

    @model_validator(mode="after")
    def _add_declared_reasons(self) -> Self:
        listed: list[UnavailableMetric] = self.__dict__["unavailable"]
        known = {(item.metric, item.reason): None for item in listed}
        found = dict.fromkeys(_iterate_null_fields_with_reason(self))
        added = [
            UnavailableMetric(metric=name, reason=reason)
            for name, reason in found
            if (name, reason) not in known
        ]
        self.__dict__["unavailable"] = [*listed, *added]
        return self


@dataclass(frozen=True, slots=True)
class _DeclaredNulls:
    """The declarations of one response model.

    Attributes:
        reasons: field -> its declaration.
        nested: fields that may hold objects with declarations of their own.
    """

    reasons: tuple[tuple[str, NullReason], ...]
    nested: tuple[str, ...]


@cache
def _null_reasons_and_fields_not_listed_by_operation(model: type[BaseModel]) -> _DeclaredNulls:
    reasons = {
        name: declared
        for name, field in model.model_fields.items()
        for declared in field.metadata
        if isinstance(declared, NullReason)
    }
    listed = {name for name, declared in reasons.items() if declared.is_listed_by_operation}
    return _DeclaredNulls(
        tuple((name, declared) for name, declared in reasons.items() if declared.reason is not None),
        tuple(name for name in model.model_fields if name not in listed),
    )


def _iterate_null_fields_with_reason(response: BaseModel) -> Iterator[tuple[str, UnavailableReason]]:
    declared = _null_reasons_and_fields_not_listed_by_operation(type(response))
    for name, null_reason in declared.reasons:
        if null_reason.reason is not None and _is_null_for_reason(response, name, null_reason):
            yield name, null_reason.reason
    for name in declared.nested:
        for part in _objects_of(getattr(response, name)):
            yield from _iterate_null_fields_with_reason(part)


def _is_null_for_reason(response: BaseModel, name: str, null_reason: NullReason) -> bool:
    if getattr(response, name) is not None:
        return False
    operands = null_reason.computed_from
    return not operands or any(getattr(response, operand) is None for operand in operands)


def _objects_of(value: Any) -> Sequence[BaseModel]:
    """Returns the response objects in the value of a field: itself, or those of a list."""
    if isinstance(value, BaseModel):
        return (value,)
    return [part for part in value if isinstance(part, BaseModel)] if isinstance(value, list) else ()
