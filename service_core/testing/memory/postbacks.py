"""Postback counts of a workspace that sends no conversions."""

from uuid import UUID

from service_core.analytics.postbacks.ports import PostbackCount, PostbackSummary, RulePostbackCount


class NoPostbacks:
    """Implements the port `Deliveries`."""

    async def list_postbacks_by_event(
        self, _workspace_id: UUID, _event_ids: object
    ) -> dict[str, list[PostbackSummary]]:
        return {}

    async def count_final_postbacks_by_bucket(
        self, _workspace_id: UUID, _bucket_edges: object
    ) -> list[PostbackCount]:
        return []

    async def count_final_postbacks_by_rule(
        self, _workspace_id: UUID, _span: object
    ) -> list[RulePostbackCount]:
        return []
