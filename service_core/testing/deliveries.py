"""`Deliveries` of a workspace that sends no conversions."""

from uuid import UUID

from service_core.insight.deliveries.ports import Delivered, DeliveryCount


class NothingSent:
    """Implements the port `Deliveries`."""

    async def deliveries(self, workspace_id: UUID, event_ids: object) -> dict[str, list[Delivered]]:  # noqa: ARG002 - nothing was sent for any
        return {}

    async def delivery_counts(self, workspace_id: UUID, edges: object) -> list[DeliveryCount]:  # noqa: ARG002 - nothing was sent ever
        return []
