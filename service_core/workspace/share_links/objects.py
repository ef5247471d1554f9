"""What can be published."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from service_core.workspace.analyses.model import Analysis
from service_core.workspace.dashboards.model import Dashboard
from service_core.workspace.reports.model import Report
from service_core.workspace.share_links.model import ObjectType

Published = Report | Dashboard | Analysis

OBJECTS: Final[Mapping[ObjectType, type[Published]]] = MappingProxyType(
    {"report": Report, "dashboard": Dashboard, "analysis": Analysis}
)
"""``object_type`` on the wire -> the records it names."""
