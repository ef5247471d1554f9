"""The types of records that can be shared."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from service_core.workspace.analyses.models import Analysis
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.reports.models import Report
from service_core.workspace.share_links.models import ObjectType

ShareableRecord = Report | Dashboard | Analysis

SHAREABLE_TYPES: Final[Mapping[ObjectType, type[ShareableRecord]]] = MappingProxyType(
    {"report": Report, "dashboard": Dashboard, "analysis": Analysis}
)
"""Record type of each ``object_type``."""
