"""Settings of what is sent: webhooks, and the results of all deliveries."""

from pydantic import Field

from service_core.kernel.settings_section import SettingsSection


class WebhooksSettings(SettingsSection):
    """Signed requests that workspaces have sent to their addresses."""

    allow_private_addresses: bool = Field(
        False,
        description="Whether webhooks may lead to hosts with private or loopback addresses. Whoever can edit a workspace can then send "
        "requests into the network of the service.",
    )


class DeliveriesSettings(SettingsSection):
    """Results of what was sent or run: e-mails, webhooks, and tasks of plugins."""

    retention_days: int = Field(
        90,
        ge=8,
        description="Days for which results are kept. They are what keeps a repeated event from having a second reaction, so at least "
        "eight.",
    )
