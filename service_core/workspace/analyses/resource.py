"""Analyses as a kind of resource, and what the wire shows of one."""

from service_core.changes.resource import ResourceType, State
from service_core.kernel.operations import Scope
from service_core.workspace.analyses.models import Analysis


def shown(state: State) -> State:
    """An analysis on the wire; a deleted one is never shown."""
    return {**state, "deleted_at": None}


ANALYSIS_KIND = ResourceType(Analysis, Scope.WRITE_REPORTS, serialize=shown)
"""How analyses are written."""
