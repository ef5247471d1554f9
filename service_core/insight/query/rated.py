"""Sources whose money is told in the currency of the workspace."""

from dataclasses import dataclass, field
from datetime import datetime

from service_core.access.model import Workspace
from service_core.insight.fx.exchange import Exchange
from service_core.insight.fx.rated import Rated
from service_core.insight.measures import Relation
from service_core.insight.ports import Aggregate, Grid
from service_core.insight.query.sources import Source, SourceState


@dataclass
class RatedSource:
    """A `Source` whose money is told in the currency of the workspace."""

    source: Source
    exchange: Exchange
    _rated: Rated = field(init=False)

    def __post_init__(self) -> None:
        self._rated = Rated(self.source, self.exchange)

    @property
    def relations(self) -> frozenset[Relation]:
        """Those of the source."""
        return self.source.relations

    async def aggregate(self, plan: Aggregate) -> Grid:
        """As `Rated`."""
        return await self._rated.aggregate(plan)

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """That of the source: what rates lack makes single values unavailable (semantics 19.1)."""
        return await self.source.state(workspace, now)
