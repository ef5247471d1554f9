"""What public pages are made of."""

from collections.abc import Mapping
from typing import Any

from hosts.composition.ports import Ports
from service_core.workspace.cards import CardRuns
from service_core.workspace.share_links.answers import PublicAnswers
from service_core.workspace.share_links.gate import Gate, Visitors


def sharing_parts(ports: Ports, runs: CardRuns) -> Mapping[Any, Any]:
    """Type -> its one value.

    Args:
        ports: of the deployment.
        runs: runs saved reports.
    """
    return {
        Gate: Gate(ports.workspace, ports.workspace, ports.limits, ports.clock),
        Visitors: Visitors(ports.workspace, ports.devices, ports.clock),
        PublicAnswers: PublicAnswers(ports.workspace, runs, ports.clock),
    }
