"""Custom properties in saved work: whoever reads totals only can neither save nor publish a number by a property."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.access.scopes import reads_totals_only, require_scope
from service_core.changes.models import Change
from service_core.changes.ports import Transaction
from service_core.changes.resource import METADATA_FIELDS, ResourceType
from service_core.kernel.dimension_ids import PROPERTY_PREFIX
from service_core.kernel.operations import Scope

_DIMENSION_FIELDS: Final = ("dimension", "dimensions")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def require_read_scope_for_saved_properties(
    caller: Caller, change: Change, resource_types: Iterable[ResourceType], transaction: Transaction
) -> None:
    """Refuses a change whose record, or a record that it refers to, groups or filters by a custom property.

    Args:
        caller: who makes the change; only credentials that read totals only are refused.
        change: that is made.
        resource_types: of the records it may refer to.
        transaction: reads them.

    Raises:
        Forbidden: ``insufficient_scope``; ``required_scope`` is ``service:read``.
    """
    if change.new is None or not reads_totals_only(caller):
        return
    types, pending, seen = list(resource_types), [change.new.state], {change.new.id}
    for state in pending:  # grows by the records that each refers to
        content = {name: value for name, value in state.items() if name not in METADATA_FIELDS}
        if _names_property(content):
            require_scope(caller, Scope.READ)
        for id_ in set(_referred_ids(content)) - seen:
            seen.add(id_)
            records = [await type_.storage(transaction).get(type_.model, id_) for type_ in types]
            pending += [record.state for record in records if record is not None]


def _names_property(value: Any) -> bool:
    """Returns whether a value has a dimension that is a custom property, at any depth."""
    if isinstance(value, Mapping):
        named = [value[name] for name in _DIMENSION_FIELDS if name in value]
        texts = [text for each in named for text in (each if isinstance(each, list) else [each])]
        is_property = any(isinstance(text, str) and text.startswith(PROPERTY_PREFIX) for text in texts)
        return is_property or any(map(_names_property, value.values()))
    return isinstance(value, list) and any(map(_names_property, value))


def _referred_ids(value: Any) -> Iterator[UUID]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _referred_ids(part)
    elif isinstance(value, list):
        for part in value:
            yield from _referred_ids(part)
    elif isinstance(value, str) and _UUID.fullmatch(value):
        yield UUID(value)
