"""Parsing of query parameters and JSON bodies into request models.

Query parameters are lenient: a number that does not parse takes the default, and unknown names are ignored. JSON
bodies are strict: unknown fields and wrong types are errors. A validator of a model may raise an `ApiError` with a
code of its endpoint.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import (
    AliasChoices,
    BaseModel,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import strip_annotated

_Model = TypeVar("_Model", bound=BaseModel)


def parse_query_parameters_leniently(
    model: type[_Model], name_value_pairs: Iterable[tuple[str, str]]
) -> _Model:
    """Returns the query model of decoded name and value pairs.

    An empty text counts as absent. The last of repeated parameters counts; a list parameter collects all of them.

    Raises:
        BadRequest: a value is not allowed, or a required parameter is missing.
    """
    kinds = _parsing_kind_by_parameter_name(model)
    values: dict[str, Any] = {}
    for name, text in name_value_pairs:
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
    except ValidationError as error:
        raise _furthest_validation_error_as_bad_request(error, values) from None


def parse_body_strictly(model: type[_Model], body: bytes, decoded_body: Any) -> _Model:
    """Returns the body model of a JSON body.

    Args:
        body: the bytes as sent; pydantic parses them in strict JSON mode.
        decoded_body: the decoded body, used to find the path of an error.

    Raises:
        BadRequest: not an object, an unknown or missing field, or a wrong type.
    """
    if not isinstance(decoded_body, dict):
        raise BadRequest("The body must be a JSON object", "invalid_json")
    try:
        return model.model_validate_json(body or b"{}", strict=True)
    except ValidationError as error:
        raise _furthest_validation_error_as_bad_request(error, decoded_body) from None


_NUMBER_PATTERNS: Final = {
    "int": re.compile(r"[+-]?[0-9]{1,300}"),
    "float": re.compile(r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,3})?"),
}
"""Texts that parse as numbers in a query string. Any other text takes the default."""


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
def _parsing_kind_by_parameter_name(model: type[BaseModel]) -> Mapping[str, str]:
    """Returns for each parameter name, aliases included, how its text is parsed."""
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
    """Returns the names a parameter accepts, the canonical one first."""
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return tuple(dict.fromkeys([key, *(choice for choice in choices if isinstance(choice, str))]))


def describe_parameter_aliases(model: type[BaseModel], parameter_name: str) -> str:
    """Returns the sentence about the aliases of a parameter; empty if there are none."""
    all_names = (parameter_names(key, field) for key, field in model.model_fields.items())
    aliases = next((names for names in all_names if parameter_name in names), ())
    others = ", ".join(f"`{other}`" for other in aliases if other not in (parameter_name, aliases[0]))
    return f"Also accepted as {others}." if others else ""


_CODE_BY_ERROR_TYPE: Final = {"missing": "missing_field", "extra_forbidden": "unknown_field"}


def _furthest_validation_error_as_bad_request(
    validation_error: ValidationError, decoded_input: Any
) -> BadRequest:
    """Returns the first validation error as a response; it never repeats what was sent.

    For a field with a union type pydantic reports an error per member; the member that got furthest counts.
    """
    errors = validation_error.errors(include_url=False, include_input=False)
    candidates = [candidate for candidate in errors if candidate["loc"][:1] == errors[0]["loc"][:1]]
    error = max(
        candidates, key=lambda candidate: len(_error_path_steps_existing_in(candidate, decoded_input))
    )
    path = "".join(_error_path_steps_existing_in(error, decoded_input)).removeprefix(".")
    reason = str(error.get("ctx", {}).get("error") or error["msg"])
    return BadRequest(
        f"{path}: {reason}" if path else reason,
        _CODE_BY_ERROR_TYPE.get(error["type"], "invalid_parameter"),
        field=path or None,
    )


def _error_path_steps_existing_in(error: ErrorDetails, decoded_input: Any) -> list[str]:
    """Returns the path of an error within ``data`` as ``.dashboard``, ``.cards``, ``[0]``, ``.size``.

    Pydantic inserts the names of union members into the path; these lead nowhere in ``data`` and are left out.
    """
    steps: list[str] = []
    missing = error["loc"][-1:] if error["type"] == "missing" else ()
    for step in error["loc"]:
        if isinstance(step, int) and isinstance(decoded_input, list):
            steps.append(f"[{step}]")
            decoded_input = decoded_input[step] if step < len(decoded_input) else None
        elif isinstance(decoded_input, dict) and (step in decoded_input or step in missing):
            steps.append(f".{step}")
            decoded_input = decoded_input.get(step)
    return steps
