"""Every tool: a name and a title over an operation, in the order they are listed (contract 9)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from hosts.mcp.schemas import input_schema, output_schema
from service_core.kernel.operations import Operation, RateLimitClass, Scope
from service_core.kernel.request_parsing import parameter_names

TOOLS: Final = (
    ("get_overview", "Overview", "GET /overview"),
    ("get_traffic", "Traffic", "GET /traffic"),
    ("get_devices", "Devices", "GET /devices"),
    ("get_locations", "Locations", "GET /locations"),
    ("get_realtime", "Realtime", "GET /realtime"),
    ("get_tags", "Link tags", "GET /tags"),
    ("list_events", "Events", "GET /events"),
    ("list_event_properties", "Event properties", "GET /events/properties"),
    ("list_event_names", "Event names", "GET /event-names"),
    ("list_users", "People", "GET /users"),
    ("get_user", "Person", "GET /users/{userId}"),
    ("get_retention", "Retention", "GET /retention"),
    ("get_ltv", "Lifetime value", "GET /ltv"),
    ("get_funnel", "Funnel", "GET /funnel"),
    ("get_attribution", "Attribution", "GET /attribution"),
    ("get_ads", "Ads", "GET /ads"),
    ("get_revenue", "Revenue", "GET /revenue"),
    ("get_commerce_metrics", "Commerce metrics", "GET /commerce-metrics"),
    ("get_subscriptions", "Subscriptions", "GET /subscriptions"),
    ("get_metrics", "Metrics", "POST /metrics"),
    ("list_metrics", "Metric catalog", "GET /metrics/catalog"),
    ("analytics_query", "Query", "POST /query"),
    ("list_dimension_values", "Dimension values", "GET /dimension-values"),
    ("search", "Search", "GET /search"),
    ("get_context", "Context", "GET /context"),
    ("get_workspace", "Workspace", "GET /workspace"),
    ("get_usage", "Usage", "GET /usage"),
    ("get_onboarding", "Onboarding", "GET /onboarding"),
    ("search_docs", "Search documentation", "GET /docs/search"),
    ("get_ledger", "Ingest ledger", "GET /ledger"),
    ("list_audit", "Audit", "GET /audit"),
    ("create_export", "Create export", "POST /exports"),
    ("list_exports", "Exports", "GET /exports"),
    ("get_export", "Export", "GET /exports/{exportId}"),
    ("list_reports", "Reports", "GET /reports"),
    ("get_report", "Report", "GET /reports/{reportId}"),
    ("run_report", "Run report", "POST /reports/{reportId}/run"),
    ("list_dashboards", "Dashboards", "GET /dashboards"),
    ("get_dashboard", "Dashboard", "GET /dashboards/{dashboardId}"),
    ("run_dashboard", "Run dashboard", "POST /dashboards/{dashboardId}/run"),
    ("list_analyses", "Analyses", "GET /analyses"),
    ("get_analysis", "Analysis", "GET /analyses/{analysisId}"),
    ("list_share_links", "Share links", "GET /share-links"),
    ("list_rules", "Conversion rules", "GET /rules"),
    ("list_links", "Trackable links", "GET /links"),
    ("list_script_proposals", "Script proposals", "GET /scripts/proposals"),
    ("get_script_proposal", "Script proposal", "GET /scripts/proposals/{proposalId}"),
    ("create_rule", "Create conversion rule", "POST /rules"),
    ("update_rule", "Update conversion rule", "PATCH /rules/{ruleId}"),
    ("delete_rule", "Delete conversion rule", "DELETE /rules/{ruleId}"),
    ("create_link", "Create trackable link", "POST /links"),
    ("update_link", "Update trackable link", "PATCH /links/{linkId}"),
    ("delete_link", "Delete trackable link", "DELETE /links/{linkId}"),
    ("propose_script", "Propose script", "POST /scripts/proposals"),
    ("create_report", "Create report", "POST /reports"),
    ("update_report", "Update report", "PATCH /reports/{reportId}"),
    ("delete_report", "Delete report", "DELETE /reports/{reportId}"),
    ("create_dashboard", "Create dashboard", "POST /dashboards"),
    ("update_dashboard", "Update dashboard", "PATCH /dashboards/{dashboardId}"),
    ("delete_dashboard", "Delete dashboard", "DELETE /dashboards/{dashboardId}"),
    ("reorder_dashboard", "Reorder dashboard", "POST /dashboards/{dashboardId}/reorder"),
    ("create_analysis", "Create analysis", "POST /analyses"),
    ("update_analysis", "Update analysis", "PATCH /analyses/{analysisId}"),
    ("delete_analysis", "Delete analysis", "DELETE /analyses/{analysisId}"),
    ("create_share_link", "Create share link", "POST /share-links"),
    ("revoke_share_link", "Revoke share link", "DELETE /share-links/{shareLinkId}"),
    ("undo", "Undo", "POST /audit/{auditId}/undo"),
)
"""Name, title and route of each."""


@dataclass(frozen=True)
class Tool:
    """One operation under the name programs call it by."""

    name: str
    title: str
    operation: Operation

    @property
    def is_write(self) -> bool:
        """Whether it changes what a workspace owns."""
        return self.operation.rate_limit is RateLimitClass.MUTATION

    def is_visible_to(self, scopes: frozenset[Scope]) -> bool:
        """Whether a token with these scopes sees it; what takes any write back needs any write scope."""
        needed = self.operation.scope
        return needed in scopes if isinstance(needed, Scope) else bool(scopes - {Scope.READ})

    @cached_property
    def arguments_schema(self) -> Mapping[str, Any]:
        """The schema of its arguments."""
        return input_schema(self.operation)

    @cached_property
    def argument_names(self) -> frozenset[str]:
        """What its arguments may be called: a parameter of a route answers to other names, too."""
        fields = self.operation.query.model_fields.items() if self.operation.query else ()
        return frozenset(self.arguments_schema["properties"]).union(
            *(parameter_names(key, field) for key, field in fields)
        )

    @cached_property
    def list_entry(self) -> Mapping[str, Any]:
        """Its entry in ``tools/list``."""
        op = self.operation
        hints = (
            {"destructiveHint": op.method == "DELETE"}
            if self.is_write
            else {"readOnlyHint": True, "idempotentHint": True}
        )
        return {
            "name": self.name,
            "title": self.title,
            "description": " ".join(f"{op.summary} {op.description}".split()),
            "inputSchema": self.arguments_schema,
            "outputSchema": output_schema(op),
            "annotations": hints,
        }


def build_tools(operations: Iterable[Operation]) -> tuple[Tool, ...]:
    """Every tool there is."""
    by_route = {f"{op.method} {op.path}": op for op in operations}
    return tuple(Tool(name, title, by_route[route]) for name, title, route in TOOLS)
