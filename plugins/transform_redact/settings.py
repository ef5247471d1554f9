"""Settings of the redaction."""

import re
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class RedactionSettings(BaseModel):
    """The table ``[plugins.transform_redact]``; without any of these nothing is removed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    emails: bool = Field(False, description="Remove e-mail addresses.")
    card_numbers: bool = Field(
        False, description="Remove numbers of payment cards: 13 to 19 digits with a valid check digit."
    )
    patterns: tuple[str, ...] = Field((), description="Regular expressions whose matches are removed.")
    kept_properties: tuple[str, ...] = Field((), description="Names of properties that stay as they are.")

    @model_validator(mode="after")
    def _require_valid_patterns(self) -> Self:
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return self
