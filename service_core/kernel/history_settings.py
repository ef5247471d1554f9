"""Settings of answers as they were given earlier."""

from pydantic import Field

from service_core.kernel.settings_section import SettingsSection


class HistorySettings(SettingsSection):
    """Answers as they were given earlier (`as_of`)."""

    retention_days: int = Field(400, ge=1, description="Days that earlier versions of facts are kept.")
    store: str = Field(
        "duckdb-memory://?memory_limit=1GB&readers=2",
        description="URL of an event store in memory, for the events of an earlier instant.",
    )
    max_events: int = Field(200_000, ge=1, description="Most events that are restored for an instant.")
    restore_seconds: float = Field(60.0, gt=0, description="Longest time in which they are restored.")
    cached_instants: int = Field(4, ge=1, description="Restored instants that are kept at a time.")
