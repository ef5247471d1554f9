"""The core as a plugin of itself: its operations, resources, metrics and dimensions, in explicit tuples."""

from collections.abc import Iterable

from service_core.access.requests import operations as requests
from service_core.access.signup import operations as signup
from service_core.changes import operations as changes
from service_core.changes.resource import Writable
from service_core.commerce.ads import operations as ads
from service_core.commerce.costs import operations as costs
from service_core.commerce.economics import operations as economics
from service_core.commerce.revenue import operations as revenue
from service_core.commerce.subscriptions import operations as subscriptions
from service_core.delivery.exports import operations as exports
from service_core.extension.hooks import hook
from service_core.gateway import operations as gateway
from service_core.handbook import operations as handbook
from service_core.insight import operations as insight
from service_core.insight.attribution import operations as attribution
from service_core.insight.catalog import Dimension, Metric
from service_core.insight.cohorts import operations as cohorts
from service_core.insight.dimensions import DIMENSIONS
from service_core.insight.funnels import operations as funnels
from service_core.insight.lookups import operations as lookups
from service_core.insight.metrics import METRICS
from service_core.insight.people import operations as people
from service_core.intake import operations as intake
from service_core.kernel.operations import Operation
from service_core.workspace import onboarding, search
from service_core.workspace.analyses import operations as analyses
from service_core.workspace.analyses.resource import ANALYSIS_KIND
from service_core.workspace.dashboards import operations as dashboards
from service_core.workspace.dashboards.resource import DASHBOARD_KIND, LISTED_REPORT_KIND
from service_core.workspace.identity.model import REVOKED_KIND
from service_core.workspace.links import operations as links
from service_core.workspace.links.domains.resource import DOMAIN_KIND
from service_core.workspace.links.resource import link_kind
from service_core.workspace.reports import operations as reports
from service_core.workspace.rules import operations as rules
from service_core.workspace.rules.resource import rule_kind
from service_core.workspace.scripts import operations as scripts
from service_core.workspace.scripts.resource import proposal_kind
from service_core.workspace.share_links import operations as share_links
from service_core.workspace.share_links.resource import SHARE_LINK_KIND


@hook
def operations() -> Iterable[Operation]:
    return (
        *gateway.OPERATIONS,
        *requests.OPERATIONS,
        *signup.OPERATIONS,
        *intake.OPERATIONS,
        *insight.OPERATIONS,
        *people.OPERATIONS,
        *cohorts.OPERATIONS,
        *funnels.OPERATIONS,
        *attribution.OPERATIONS,
        *ads.OPERATIONS,
        *revenue.OPERATIONS,
        *economics.OPERATIONS,
        *costs.OPERATIONS,
        *subscriptions.OPERATIONS,
        *lookups.OPERATIONS,
        *exports.OPERATIONS,
        *changes.OPERATIONS,
        *handbook.OPERATIONS,
        *onboarding.OPERATIONS,
        *search.OPERATIONS,
    )


@hook
def resources() -> Iterable[Writable]:
    return (
        Writable(rule_kind, rules.OPERATIONS),
        Writable(link_kind, links.OPERATIONS),
        Writable(DOMAIN_KIND),
        Writable(proposal_kind, scripts.OPERATIONS),
        Writable(LISTED_REPORT_KIND, reports.OPERATIONS),
        Writable(DASHBOARD_KIND, dashboards.OPERATIONS),
        Writable(ANALYSIS_KIND, analyses.OPERATIONS),
        Writable(SHARE_LINK_KIND, share_links.OPERATIONS),
        Writable(REVOKED_KIND),
    )


@hook
def metrics() -> Iterable[Metric]:
    return METRICS


@hook
def dimensions() -> Iterable[Dimension]:
    return DIMENSIONS
