"""The time of day in the workspace, as one file without a package: ``GET /v1/clock``."""

from datetime import datetime
from zoneinfo import ZoneInfo

from service_core.plugin import Caller, Operation, PluginData, PluginInfo, ResponseModel, hook, operation


class WorkspaceClock(ResponseModel):
    """The present time of a workspace."""

    timezone: str
    local_time: datetime


@operation("GET /clock", tag="clock")
async def get_clock(*, caller: Caller) -> WorkspaceClock:
    """Get the time of day in the workspace."""
    zone = caller.workspace.timezone
    return WorkspaceClock(timezone=zone, local_time=caller.now.astimezone(ZoneInfo(zone)))


@hook
def plugin_info() -> PluginInfo:
    """The declaration: it reads the settings of the workspace."""
    return PluginInfo(label="Workspace clock", icon="C", reads=(PluginData.WORKSPACES,))


@hook
def operations() -> list[Operation]:
    """The endpoint."""
    return [get_clock]
