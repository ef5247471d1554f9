"""Base classes of request and response models."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PrivateAttr,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_FIELDS_OF_NO_PAGE: Final = ("fields", "omit_nulls")
"""Fields of `row_selection.RowSelection`: they change no page, so a cursor is not bound to them."""


class _RequestModel(BaseModel):
    """Base of query and body models.

    ``required_params`` lists fields that the schema marks as required although they have defaults. The operation itself raises
    the error when one is missing, with its own message.
    """

    required_params: ClassVar[tuple[str, ...]] = ()
    _requested_limit: int | None = PrivateAttr(default=None)

    def with_smaller_limit(self, limit: int) -> Self:
        """Returns the request with fewer rows per page; its cursors are those of the limit that was sent."""
        if self._requested_limit is None:
            self._requested_limit = getattr(self, "limit", None)
        return self.model_copy(update={"limit": limit})

    def cursor_parameters(self) -> dict[str, Any]:
        """Returns the JSON values that a cursor of this request is bound to: all as sent but for the cursor."""
        sent = self.model_dump(mode="json", exclude={"cursor", *_FIELDS_OF_NO_PAGE})
        return sent if self._requested_limit is None else sent | {"limit": self._requested_limit}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        reference = handler(schema)
        properties_schema = handler.resolve_ref_schema(reference)
        for name in cls.required_params:
            properties_schema["properties"][name].pop("default", None)
            properties_schema.setdefault("required", []).append(name)
        return reference


class QueryModel(_RequestModel):
    """Query parameters of an operation. Unknown parameters are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)


class BodyModel(_RequestModel):
    """A JSON body or an object inside one. Unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class ResponseModel(BaseModel):
    """A response or an object inside one. `api.render` serializes timestamps and decimals."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True, slots=True)
class Clamp:
    """Moves a number into ``minimum <= n <= maximum`` instead of rejecting it.

    Used in an annotation, ``Annotated[int, Clamp(1, 200)]``. The bounds appear in the schema.
    """

    minimum: float
    maximum: float

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.clamp_value, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(schema) | {"minimum": self.minimum, "maximum": self.maximum}

    def clamp_value(self, value: Any) -> Any:
        """Returns the nearest number within the bounds; None stays None."""
        return value if value is None else max(self.minimum, min(self.maximum, value))
