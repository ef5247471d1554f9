"""Custom properties hold what single events say, such as e-mail addresses: reading totals does not include them."""

from collections.abc import Iterable, Iterator
from typing import Final

from service_core.access.models import Caller
from service_core.access.scopes import reads_totals_only, require_scope
from service_core.analytics.measures import Column, ColumnOwner, Condition, Predicate
from service_core.ingestion.models import IMPORT_PROPERTY
from service_core.kernel.dimension_ids import PROPERTY_PREFIX
from service_core.kernel.operations import Scope

_PROPERTY_OWNERS: Final = frozenset({ColumnOwner.PROPERTY, ColumnOwner.PROPERTY_LABEL})


def require_read_scope_for_properties(
    caller: Caller, dimension_ids: Iterable[str] = (), conditions: Iterable[Condition] = ()
) -> None:
    """Rejects groups by custom properties, and conditions on them, of a credential that reads totals only.

    Args:
        caller: who reads.
        dimension_ids: the dimensions of groups and filters.
        conditions: compiled conditions on events.

    Raises:
        Forbidden: ``insufficient_scope``; ``required_scope`` is ``service:read``.
    """
    if not reads_totals_only(caller):
        return
    if any(id_.startswith(PROPERTY_PREFIX) for id_ in dimension_ids) or any(
        column.owner in _PROPERTY_OWNERS and column.name != IMPORT_PROPERTY for column in _columns(conditions)
    ):
        require_scope(caller, Scope.READ)


def _columns(conditions: Iterable[Condition]) -> Iterator[Column]:
    for condition in conditions:
        columns = (condition.column,) if isinstance(condition, Predicate) else condition.columns
        for column in columns:
            yield from column.candidates
