"""What the URL says: ``local:///exports``."""

from pathlib import Path

from service_core.plugin import AdapterSettings


class LocalSettings(AdapterSettings):
    """Where the files lie."""

    @property
    def folder(self) -> Path:
        """The folder; it is made when the service starts."""
        assert self.path is not None
        return self.path
