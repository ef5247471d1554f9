"""Settings of the names of campaigns."""

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

UTM_NAMES: Final = ("utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content")


class CampaignSettings(BaseModel):
    """The table ``[plugins.transform_campaigns]``; without any of these values stay as they were sent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lower_case: bool = Field(False, description="Store UTM values in lower case, with single spaces.")
    utm_source: dict[str, str] = Field(
        {}, description="Sent value -> stored value; the case of sent values is ignored."
    )
    utm_medium: dict[str, str] = Field({}, description="Likewise.")
    utm_campaign: dict[str, str] = Field({}, description="Likewise.")
    utm_term: dict[str, str] = Field({}, description="Likewise.")
    utm_content: dict[str, str] = Field({}, description="Likewise.")
