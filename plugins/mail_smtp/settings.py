"""Settings of the URL: ``smtp://user:password@host:587?sender=touchpoint@example.com&security=starttls``."""

from typing import Literal

from pydantic import Field

from service_core.plugin import AdapterSettings

Security = Literal["starttls", "tls", "none"]


class SmtpSettings(AdapterSettings):
    """The mail server. Special characters of the user name and password are percent-encoded."""

    host: str = Field(description="Name of the server.")
    port: int = Field(587, description="Its port.")
    sender: str = Field(description="Address the mail comes from.")
    security: Security = Field("starttls", description="`starttls`, `tls` from the start, or `none`.")
    timeout_seconds: float = Field(10, gt=0, le=60, description="How long to wait for the server.")
