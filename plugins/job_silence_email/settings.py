"""Settings of the warning of silence."""

from pydantic import BaseModel, ConfigDict, Field


class SilenceSettings(BaseModel):
    """The table ``[plugins.job_silence_email]``; without addresses nothing is sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hours: int = Field(24, ge=1, le=720, description="Hours without an event after which an e-mail is sent.")
    to: tuple[str, ...] = Field((), description="E-mail addresses.")
    workspaces: tuple[str, ...] = Field((), description="Public ids of workspaces; empty for all.")
