"""What the URL says: ``local:///exports``."""

from pathlib import Path
from typing import Self

from pydantic import model_validator

from service_core.plugin import AdapterSettings


class LocalSettings(AdapterSettings):
    """Where the files lie."""

    @property
    def folder(self) -> Path:
        """The folder; it is made when the service starts."""
        assert self.path is not None
        return self.path

    @model_validator(mode="after")
    def _names_a_folder(self) -> Self:
        if self.path is None or self.host is not None:
            raise ValueError("name a folder, as in local:///exports")
        return self
