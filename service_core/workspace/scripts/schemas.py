"""What requests say of a proposal."""

from pydantic import Field

from service_core.changes.operations import DryRunBody
from service_core.kernel.schemas import BodyModel
from service_core.workspace.scripts.models import Condition, Frequency, ScriptSettings, ScriptType, Trigger


class NewProposal(BodyModel):
    """A script to propose."""

    name: str
    type: ScriptType
    content: str = Field(description="The script itself; for `external` its https address.")
    trigger: Trigger = "page_load"
    frequency: Frequency = "always"
    conditions: list[Condition] = Field(default_factory=list, description="At most 10; all must hold.")
    settings: ScriptSettings = ScriptSettings()
    note: str | None = Field(None, description="For whoever reviews it.")


class ProposeScript(DryRunBody):
    """Body of `POST /scripts/proposals`."""

    proposal: NewProposal
