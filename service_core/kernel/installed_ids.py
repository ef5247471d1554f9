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


def restrict_or_document_installed_ids(
    query_model: type[BaseModel], ids_by_group: Mapping[str, Sequence[str]]
) -> type[BaseModel]:
    """Returns the model with every `InstalledIds` replaced by the ids; the model itself if it has none.

    Args:
        query_model: query parameters of an operation.
        ids_by_group: installed ids by group.
    """
    fields: dict[str, Any] = {}
    for name, declared in query_model.model_fields.items():
        marker = next((entry for entry in declared.metadata if isinstance(entry, InstalledIds)), None)
        if marker is None or not ids_by_group[marker.group]:
            continue
        field, known = copy(declared), tuple(ids_by_group[marker.group])
        field.metadata = [entry for entry in declared.metadata if entry is not marker]
        if not marker.is_closed:
            listed = ", ".join(f"`{id_}`" for id_ in known)
            field.description = f"{declared.description} Installed: {listed}."
        kind = Literal[known] | None if marker.is_closed else declared.annotation
        fields[name] = (kind, field)
    if not fields:
        return query_model
    return create_model(
        query_model.__name__, __base__=query_model, __module__=query_model.__module__, **fields
    )
