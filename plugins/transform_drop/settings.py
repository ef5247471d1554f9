"""Settings of the events that are left out."""

from ipaddress import IPv4Network, IPv6Network

from pydantic import BaseModel, ConfigDict, Field


class DropSettings(BaseModel):
    """The table ``[plugins.transform_drop]``; an event that fits one entry is left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    hostnames: tuple[str, ...] = Field(
        (), description="Hosts of pages, such as `staging.example.com` or `*.test`."
    )
    paths: tuple[str, ...] = Field((), description="Paths of pages, such as `/admin/*`.")
    addresses: tuple[IPv4Network | IPv6Network, ...] = Field(
        (), description="IP addresses or networks, such as `203.0.113.0/24`."
    )
    event_names: tuple[str, ...] = Field((), description="Names of events, such as `debug_*`.")
