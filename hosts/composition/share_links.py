"""What public pages are made of."""

from collections.abc import Mapping
from typing import Any

from hosts.composition.ports import Ports
from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.share_links.access import ShareLinkAccess, ViewCounter
from service_core.workspace.share_links.cached_results import SharedResults


def build_share_link_components(ports: Ports, runs: ReportBatchRunner) -> Mapping[Any, Any]:
    """Type -> its one value.

    Args:
        ports: of the deployment.
        runs: runs saved reports.
    """
    return {
        ShareLinkAccess: ShareLinkAccess(ports.workspace, ports.workspace, ports.limits, ports.clock),
        ViewCounter: ViewCounter(ports.workspace, ports.devices, ports.clock),
        SharedResults: SharedResults(ports.workspace, runs, ports.clock),
    }
