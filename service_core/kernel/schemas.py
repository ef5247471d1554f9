"""What a request says, read by the rules of the contract (2.6): parameters, bodies and answers.

Query parameters are forgiving: numbers are clamped, a number that does not parse takes the default,
unknown names are ignored. JSON bodies are strict: nothing unknown, nothing of the wrong type. Both
end in pydantic models; a model's own validator may raise a `Refusal` with the code of its endpoint.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType
from typing import Any, ClassVar, Final, TypeVar, Union, get_args, get_origin

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import strip_annotated

_Model = TypeVar("_Model", bound=BaseModel)


class _RequestModel(BaseModel):
    """What a request sends.

    ``needed`` are those fields it has to send although they have defaults: the operation tells in its own
    words when one is not there. The schema calls them required all the same.
    """

    needed: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler(schema)
        own = handler.resolve_ref_schema(described)
        for name in cls.needed:
            own["properties"][name].pop("default", None)
            own.setdefault("required", []).append(name)
        return described


class QueryModel(_RequestModel):
    """Query parameters of an operation; unknown ones are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, defer_build=True)


class BodyModel(_RequestModel):
    """A JSON body, or an object inside one: strict, and without fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)


class ResponseModel(BaseModel):
    """An answer, or an object inside one. Datetimes and decimals are rendered by `gateway.render`."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


@dataclass(frozen=True, slots=True)
class Clamp:
    """A number is moved into ``minimum <= n <= maximum`` instead of being refused.

    Stands in an annotation, ``Annotated[int, Clamp(1, 200)]``, and writes its bounds into the schema.
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
        """The nearest number in the bounds; None stays None."""
        return value if value is None else max(self.minimum, min(self.maximum, value))


def parse_query_parameters(model: type[_Model], pairs: Iterable[tuple[str, str]]) -> _Model:
    """Read query parameters.

    An empty string counts as absent, the last of a repeated parameter counts, and a list parameter
    collects all of its repeats.

    Raises:
        BadRequest: a value that is not listed, or a parameter that is missing.
    """
    kinds = _parsing_kinds(model)
    values: dict[str, Any] = {}
    for name, text in pairs:
        kind = kinds.get(name)
        value = text.replace("\0", "")  # no stored text holds one, and some stores refuse it
        if kind is None or value == "":
            continue
        if kind == "list":
            values.setdefault(name, []).append(value)
        elif kind in _NUMBER_PATTERNS and not _NUMBER_PATTERNS[kind].fullmatch(value := value.strip()):
            values.pop(name, None)
        else:
            values[name] = _parse_boolean(name, value) if kind == "bool" else value
    try:
        return model.model_validate(values)
    except ValidationError as fault:
        raise _validation_error_to_bad_request(fault, values) from None


def parse_body(model: type[_Model], body: bytes, data: Any) -> _Model:
    """Read a JSON body.

    Args:
        body: the bytes as sent; pydantic reads them strictly, as JSON and not as Python values.
        data: the same body, decoded: it was refused already if it is no JSON, and it leads to the
            path of a fault.

    Raises:
        BadRequest: not an object, an unknown or missing field, or a wrong type.
    """
    if not isinstance(data, dict):
        raise BadRequest("The body must be a JSON object", "invalid_json")
    try:
        return model.model_validate_json(body or b"{}", strict=True)
    except ValidationError as fault:
        raise _validation_error_to_bad_request(fault, data) from None


_NUMBER_PATTERNS: Final = {
    "int": re.compile(r"[+-]?[0-9]{1,300}"),
    "float": re.compile(r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,3})?"),
}
"""What parses as a number in a query string; anything else takes the default."""

_BOOLEAN_TEXTS: Final = {"true": True, "1": True, "false": False, "0": False}

_KIND_BY_TYPE: Final = {
    bool: "bool",
    int: "int",
    float: "float",
    list: "list",
    tuple: "list",
    frozenset: "list",
}


def _parse_boolean(name: str, value: str) -> bool:
    if value not in _BOOLEAN_TEXTS:
        raise BadRequest(f"{name} must be true, false, 1 or 0", "invalid_parameter", field=name)
    return _BOOLEAN_TEXTS[value]


@lru_cache(maxsize=512)
def _parsing_kinds(model: type[BaseModel]) -> Mapping[str, str]:
    """Every name a parameter answers to -> how its text is read."""
    return {
        name: _parsing_kind(field)
        for key, field in model.model_fields.items()
        for name in parameter_names(key, field)
    }


def _parsing_kind(field: FieldInfo) -> str:
    choices = get_args(field.annotation) if get_origin(field.annotation) in (Union, UnionType) else ()
    parts = [strip_annotated(choice) for choice in choices or (field.annotation,)]
    return next(
        (_KIND_BY_TYPE[kind] for part in parts if (kind := get_origin(part) or part) in _KIND_BY_TYPE), "text"
    )


def parameter_names(key: str, field: FieldInfo) -> tuple[str, ...]:
    """The names a parameter answers to, the canonical one first."""
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return tuple(dict.fromkeys([key, *(choice for choice in choices if isinstance(choice, str))]))


def describe_aliases(model: type[BaseModel], name: str) -> str:
    """What a description says of the other names of a parameter; nothing when there are none."""
    every = (parameter_names(key, field) for key, field in model.model_fields.items())
    found = next((names for names in every if name in names), ())
    others = ", ".join(f"`{other}`" for other in found if other not in (name, found[0]))
    return f"Also accepted as {others}." if others else ""


_CODE_BY_ERROR_TYPE: Final = {"missing": "missing_field", "extra_forbidden": "unknown_field"}


def _validation_error_to_bad_request(fault: ValidationError, data: Any) -> BadRequest:
    """The first of pydantic's faults as an answer; it never repeats what was sent.

    Of a field that may be of several kinds each kind tells its own: the one that got furthest counts.
    """
    errors = fault.errors(include_url=False, include_input=False)
    same = [each for each in errors if each["loc"][:1] == errors[0]["loc"][:1]]
    error = max(same, key=lambda each: len(_error_path_steps(each, data)))
    path = "".join(_error_path_steps(error, data)).removeprefix(".")
    reason = str(error.get("ctx", {}).get("error") or error["msg"])
    return BadRequest(
        f"{path}: {reason}" if path else reason,
        _CODE_BY_ERROR_TYPE.get(error["type"], "invalid_parameter"),
        field=path or None,
    )


def _error_path_steps(error: ErrorDetails, data: Any) -> list[str]:
    """``.dashboard``, ``.cards``, ``[0]``, ``.size``: what leads through ``data``, and the one that is missing.

    Pydantic puts names of union members between them; those lead nowhere and are left out.
    """
    steps: list[str] = []
    missing = error["loc"][-1:] if error["type"] == "missing" else ()
    for step in error["loc"]:
        if isinstance(step, int) and isinstance(data, list):
            steps.append(f"[{step}]")
            data = data[step] if step < len(data) else None
        elif isinstance(data, dict) and (step in data or step in missing):
            steps.append(f".{step}")
            data = data.get(step)
    return steps
