"""Reports as a kind of resource, and what the wire shows of one."""

from service_core.changes.resource import ResourceType, State
from service_core.kernel.operations import Scope
from service_core.workspace.reports.models import Report


def shown(state: State) -> State:
    """A report on the wire; a deleted one is never shown."""
    return {**state, "deleted_at": None}


REPORT_KIND = ResourceType(Report, Scope.WRITE_REPORTS, serialize=shown)
"""How reports are written."""
