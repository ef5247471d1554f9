"""Analyses as a kind of resource, and what the wire shows of one."""

from service_core.changes.resource import Kind, State
from service_core.kernel.operations import Scope
from service_core.workspace.analyses.model import Analysis


def shown(state: State) -> State:
    """An analysis on the wire; a deleted one is never shown."""
    return {**state, "deleted_at": None}


ANALYSIS_KIND = Kind(Analysis, Scope.WRITE_REPORTS, shown=shown)
"""How analyses are written."""
