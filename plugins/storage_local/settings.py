"""Settings of the URL: ``local:///exports``."""

from pathlib import Path

from service_core.plugin import AdapterSettings


class LocalSettings(AdapterSettings):
    """Settings of the folder."""

    @property
    def folder(self) -> Path:
        """The folder; it is created when the service starts."""
        assert self.path is not None
        return self.path
