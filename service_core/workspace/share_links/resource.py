"""Share links as a kind of resource: the public page behind them, and what the wire shows."""

from typing import Final

from service_core.changes.resource import ResourceType, State
from service_core.kernel.operations import Scope
from service_core.workspace.share_links.models import ShareLink


def page_effects(prior: State | None, new: State | None) -> tuple[State, ...]:
    """What a change does to the public page; its path is masked, as the token is nobody else's business."""
    state = new or prior
    if state is None:
        return ()
    published = prior is None
    what = f"{state['object_type']} '{state['object_name']}'"
    effect = {
        "type": "public_page",
        "summary": f"{what} can be read by whoever has the address"
        if published
        else f"the public page of {what} answers 410 from now on",
        "operation": "put" if published else "delete",
        "path": f"/share/…{state['token_hint'] or ''}",
    }
    return (effect,)


def shown(state: State) -> State:
    """A link on the wire, but for the views of its page, which are counted elsewhere."""
    return {name: value for name, value in state.items() if name not in _INTERNAL}


_INTERNAL: Final = ShareLink.untold | {"updated_at"}

SHARE_LINK_KIND: Final = ResourceType(ShareLink, Scope.WRITE_REPORTS, page_effects, shown)
"""How share links are written."""
