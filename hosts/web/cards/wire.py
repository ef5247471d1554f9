"""Answers of handlers as they are on the wire, and what they leave to who reads them."""

from typing import Any

from hosts.composition.codec import CODEC
from hosts.web.cards.card import Answer, Setting
from service_core.access.model import Workspace
from service_core.gateway.render import plain
from service_core.insight.catalog import Catalog


def on_wire(answer: Any) -> Answer:
    """An answer as JSON values."""
    read: Answer = CODEC.loads(CODEC.dumps(answer, plain))
    return read


def setting_of(catalog: Catalog, workspace: Workspace) -> Setting:
    """What answers of a workspace do not say themselves."""
    return Setting(workspace.zone, workspace.currency, labels_of(catalog))


def labels_of(catalog: Catalog) -> dict[str, str]:
    """Id of every dimension and metric -> its name for people."""
    dimensions = {one.id: one.label for one in catalog.dimensions.values()}
    metrics = {one.id: one.label for one in catalog.metrics.values()}
    return dimensions | metrics
