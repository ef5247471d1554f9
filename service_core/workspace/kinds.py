"""Every type of resource a workspace can write: a new one adds its line."""

from service_core.changes.resource import Kind
from service_core.kernel.settings import Settings
from service_core.workspace.analyses.resource import ANALYSIS_KIND
from service_core.workspace.dashboards.resource import DASHBOARD_KIND, LISTED_REPORT_KIND
from service_core.workspace.links.domains.resource import DOMAIN_KIND
from service_core.workspace.links.ports import Clicks, EdgeMemory
from service_core.workspace.links.resource import domain_of, link_kind
from service_core.workspace.rules.platforms import Platforms
from service_core.workspace.rules.resource import rule_kind
from service_core.workspace.scripts.resource import proposal_kind
from service_core.workspace.share_links.resource import SHARE_LINK_KIND


def kinds_of(settings: Settings, clicks: Clicks, edge: EdgeMemory, platforms: Platforms) -> tuple[Kind, ...]:
    """The kinds, as this deployment shows them.

    Args:
        settings: its domains and addresses.
        clicks: how often links were clicked.
        edge: the memory of redirects that machines share.
        platforms: what conversion rules can send to.
    """
    return (
        rule_kind(platforms),
        link_kind(domain_of(settings), clicks, edge),
        DOMAIN_KIND,
        proposal_kind(settings.http.web_url),
        LISTED_REPORT_KIND,
        DASHBOARD_KIND,
        ANALYSIS_KIND,
        SHARE_LINK_KIND,
    )
