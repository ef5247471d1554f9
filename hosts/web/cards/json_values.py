"""Answers of handlers as they are on the wire, and what they leave to who reads them."""

from typing import Any
from zoneinfo import ZoneInfo

from hosts.composition.json_codec import CODEC
from hosts.web.cards.card import Answer, DisplayContext
from service_core.access.models import Workspace
from service_core.analytics.query.catalog import Catalog
from service_core.api.render import json_default


def to_json_values(answer: Any) -> Answer:
    """An answer as JSON values."""
    read: Answer = CODEC.loads(CODEC.dumps(answer, json_default))
    return read


def build_display_context(catalog: Catalog, workspace: Workspace) -> DisplayContext:
    """What answers of a workspace do not say themselves."""
    return build_display_context_for(catalog, workspace.zone, workspace.currency)


def build_display_context_for(catalog: Catalog, zone: ZoneInfo, currency: str) -> DisplayContext:
    """What answers in a time zone and a currency do not say themselves."""
    multiples = frozenset(metric.id for metric in catalog.metrics.values() if metric.is_multiple)
    return DisplayContext(zone, currency, collect_labels(catalog), multiples)


def collect_labels(catalog: Catalog) -> dict[str, str]:
    """Id of every dimension and metric -> its name for people."""
    dimensions = {one.id: one.label for one in catalog.dimensions.values()}
    metrics = {one.id: one.label for one in catalog.metrics.values()}
    return dimensions | metrics
