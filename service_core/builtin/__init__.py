"""The core as a plugin: its operations, resources, metrics and dimensions."""

from collections.abc import Iterable

from service_core.access.key_requests import operations as key_requests
from service_core.access.signup import operations as signup
from service_core.analytics import operations as analytics
from service_core.analytics.attribution_reads import journeys
from service_core.analytics.attribution_reads import operations as attribution
from service_core.analytics.cohorts import operations as cohorts
from service_core.analytics.experiments import operations as experiments
from service_core.analytics.explanation import operations as explanation
from service_core.analytics.funnels import operations as funnels
from service_core.analytics.funnels import persons as funnel_persons
from service_core.analytics.install_attribution import operations as install_attribution
from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.paths import operations as paths
from service_core.analytics.people import operations as people
from service_core.analytics.query.catalog import Dimension, Metric
from service_core.analytics.receipts import operations as receipts
from service_core.api import operations as api
from service_core.changes import change_set_operations, rollback_operations
from service_core.changes import operations as changes
from service_core.changes.resource_definition import ResourceDefinition
from service_core.commerce.ads import operations as ads
from service_core.commerce.connections.resource import CONNECTIONS
from service_core.commerce.profit import operations as profit
from service_core.commerce.revenue import operations as revenue
from service_core.commerce.subscriptions import operations as subscriptions
from service_core.delivery.exports import operations as exports
from service_core.delivery.imports import operations as imports
from service_core.documentation import operations as documentation
from service_core.extensions.hooks import hook
from service_core.ingestion import operations as ingestion
from service_core.kernel.operations import Operation
from service_core.workspace import onboarding, search
from service_core.workspace.alerts.resource import ALERTS
from service_core.workspace.analyses.resource import ANALYSES
from service_core.workspace.annotations.resource import ANNOTATIONS
from service_core.workspace.approvals import operations as approval_operations
from service_core.workspace.dashboards.card_reports import describe_cards_hidden_by_deletion
from service_core.workspace.dashboards.resource import DASHBOARDS
from service_core.workspace.email_reports.resource import EMAIL_REPORTS
from service_core.workspace.identity.models import REVOKED_LINK_TYPE
from service_core.workspace.links.domains.models import LINK_DOMAIN_TYPE
from service_core.workspace.links.resource import LINKS
from service_core.workspace.reports.resource import REPORTS
from service_core.workspace.rules.resource import RULES
from service_core.workspace.scripts.resource import SCRIPT_PROPOSALS
from service_core.workspace.segments.resource import SEGMENTS
from service_core.workspace.settings import resource as workspace_settings
from service_core.workspace.share_links.resource import SHARE_LINKS
from service_core.workspace.webhooks.resource import WEBHOOKS


@hook
def operations() -> Iterable[Operation]:
    """Returns the operations in the order of the API reference and of the MCP tools."""
    return (
        *api.OPERATIONS,
        *key_requests.OPERATIONS,
        *signup.OPERATIONS,
        *analytics.TRAFFIC,
        *people.OPERATIONS,
        *cohorts.OPERATIONS,
        *funnels.OPERATIONS,
        *funnel_persons.OPERATIONS,
        *paths.OPERATIONS,
        *experiments.OPERATIONS,
        *attribution.OPERATIONS,
        *journeys.OPERATIONS,
        *install_attribution.OPERATIONS,
        *ads.OPERATIONS,
        *revenue.OPERATIONS,
        *profit.OPERATIONS,
        *subscriptions.OPERATIONS,
        *analytics.QUERIES,
        *explanation.OPERATIONS,
        *receipts.OPERATIONS,
        *search.OPERATIONS,
        *analytics.CONTEXT,
        *analytics.WORKSPACE,
        *onboarding.OPERATIONS,
        *documentation.OPERATIONS,
        *ingestion.OPERATIONS,
        *changes.OPERATIONS,
        *rollback_operations.OPERATIONS,
        *change_set_operations.OPERATIONS,
        *approval_operations.OPERATIONS,
        *exports.OPERATIONS,
        *imports.OPERATIONS,
    )


@hook
def resources() -> Iterable[ResourceDefinition]:
    return (
        REPORTS.with_effects(describe_cards_hidden_by_deletion),
        DASHBOARDS,
        ANALYSES,
        SEGMENTS,
        ANNOTATIONS,
        EMAIL_REPORTS,
        ALERTS,
        WEBHOOKS,
        SHARE_LINKS,
        RULES,
        LINKS,
        ResourceDefinition(LINK_DOMAIN_TYPE),
        SCRIPT_PROPOSALS,
        ResourceDefinition(REVOKED_LINK_TYPE),
        CONNECTIONS,
        ResourceDefinition(workspace_settings.WORKSPACE_SETTINGS_TYPE, workspace_settings.OPERATIONS),
    )


@hook
def metrics() -> Iterable[Metric]:
    return CORE_METRICS


@hook
def dimensions() -> Iterable[Dimension]:
    return CORE_DIMENSIONS
