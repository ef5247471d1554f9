"""Settings of signed webhooks."""

from pydantic import Field

from service_core.kernel.settings_section import SettingsSection


class WebhooksSettings(SettingsSection):
    """Signed requests that workspaces have sent to their addresses."""

    allow_private_addresses: bool = Field(
        False,
        description="Whether webhooks may lead to hosts with private or loopback addresses. Whoever can edit a workspace can then send "
        "requests into the network of the service.",
    )
