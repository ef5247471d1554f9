"""Stored dashboards."""

from typing import ClassVar, Final, Literal
from uuid import UUID

from pydantic import Field

from service_core.analytics.query.schemas import FilterBody
from service_core.changes.resource import Resource
from service_core.kernel.schemas import BodyModel
from service_core.workspace.reports.models import ReportKind, SavedRange

CardSize = Literal["sm", "md", "lg"]
LAYOUT_VERSION: Final = 1


class Card(BodyModel):
    """A card of a dashboard; each report has at most one."""

    report_id: UUID
    size: CardSize


class Layout(BodyModel):
    """Cards in their order."""

    v: Literal[1] = LAYOUT_VERSION
    cards: tuple[Card, ...] = ()


class Dashboard(Resource):
    """A stored dashboard; it refers to reports by id."""

    resource_type: ClassVar[str] = "dashboard"

    layout: Layout
    date_range: SavedRange
    filters: tuple[FilterBody, ...] = Field(description="Applied to each card that accepts them.")


def default_card_size(kind: ReportKind) -> CardSize:
    """Returns the size of a card whose request has none."""
    return "sm" if kind == "metric" else "lg" if kind == "funnel" else "md"
