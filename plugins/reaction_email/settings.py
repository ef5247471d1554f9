"""Settings of event e-mails."""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field


class EmailRule(BaseModel):
    """Which events are mailed to whom."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    events: tuple[str, ...] = Field(min_length=1, description="Names of events, as sent.")
    to: tuple[str, ...] = Field(min_length=1, description="E-mail addresses.")
    workspace: str = Field("", description="Public id of the workspace; empty for every one.")
    properties: tuple[str, ...] = Field((), description="Properties whose values the e-mail shows.")


class EventEmailSettings(BaseModel):
    """The table ``[plugins.reaction_email]``; without rules no e-mail is sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: tuple[EmailRule, ...] = ()

    def list_event_names(self) -> Iterable[str]:
        """Returns the names of the events of all rules."""
        return [name for rule in self.rules for name in rule.events]
