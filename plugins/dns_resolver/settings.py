"""Settings of the URL: ``dns://`` or ``dns://9.9.9.9:53?timeout_seconds=5``."""

from ipaddress import ip_address
from typing import Self

from pydantic import Field, model_validator

from service_core.plugin import AdapterSettings


class ResolverSettings(AdapterSettings):
    """The name servers to use; without a host those of the machine."""

    timeout_seconds: float = Field(5, gt=0, le=30, description="How long one look-up may take.")

    @model_validator(mode="after")
    def _require_ip_address(self) -> Self:
        if self.host is not None:
            try:
                ip_address(self.host)
            except ValueError:
                raise ValueError("a name server is named by its address, as in dns://9.9.9.9") from None
        return self
