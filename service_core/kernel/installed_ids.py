"""Parameters that take ids of installed plugins, such as the filter of an endpoint by provider."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, create_model


@dataclass(frozen=True, slots=True)
class InstalledIds:
    """Marks a text parameter that takes ids of installed plugins: ``Annotated[str | None, InstalledIds("ad_platforms")]``.

    Attributes:
        group: name of the group of ids.
        is_closed: whether other texts are refused; otherwise the handler decides, and the ids are only documented.
    """

    group: str
    is_closed: bool = True


def with_installed_ids(model: type[BaseModel], ids: Mapping[str, Sequence[str]]) -> type[BaseModel]:
    """Returns the model with every `InstalledIds` replaced by the ids; the model itself if it has none.

    Args:
        model: query parameters of an operation.
        ids: installed ids by group.
    """
    fields: dict[str, Any] = {}
    for name, declared in model.model_fields.items():
        marker = next((entry for entry in declared.metadata if isinstance(entry, InstalledIds)), None)
        if marker is None or not ids[marker.group]:
            continue
        field, known = copy(declared), tuple(ids[marker.group])
        field.metadata = [entry for entry in declared.metadata if entry is not marker]
        if not marker.is_closed:
            listed = ", ".join(f"`{id_}`" for id_ in known)
            field.description = f"{declared.description} Installed: {listed}."
        kind = Literal[known] | None if marker.is_closed else declared.annotation
        fields[name] = (kind, field)
    if not fields:
        return model
    return create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)
