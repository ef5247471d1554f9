"""Script proposals as a kind of resource."""

from service_core.changes.resource import ResourceType, State
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.workspace.scripts.models import ScriptProposal


def proposal_kind(*, settings: Settings) -> ResourceType:
    """How proposals are written.

    Args:
        settings: where people review them.
    """

    def effects(prior: State | None, new: State | None) -> tuple[State, ...]:
        if prior is not None or new is None:
            return ()
        return (_waits(new, settings.http.effective_app_url),)

    return ResourceType(ScriptProposal, Scope.PROPOSE_SCRIPTS, effects)


def _waits(state: State, web_url: str) -> State:
    """A draft that somebody has to look at; where is known once it is filed."""
    return {
        "type": "script_proposal",
        "summary": f"draft '{state['name']}' waits for approval",
        "requires_approval": True,
        "approver_roles": ["owner", "admin"],
        "review_surface": f"{web_url}/container/proposals/{state['id']}" if state["id"] else None,
        "supersedes": list(state["supersedes"]),
    }
