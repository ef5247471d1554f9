"""Sources with money converted to the currency of the workspace."""

from dataclasses import dataclass, field
from datetime import datetime

from service_core.access.models import Workspace
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.measures import Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult
from service_core.analytics.query.sources import Source, SourceState


@dataclass
class CurrencyConvertingSource:
    """A `Source` whose money is converted to the currency of the workspace."""

    source: Source
    rate_lookup: RateLookup
    _converter: CurrencyConverter = field(init=False)

    def __post_init__(self) -> None:
        self._converter = CurrencyConverter(self.source, self.rate_lookup)

    @property
    def relations(self) -> frozenset[Relation]:
        """The relations of the source."""
        return self.source.relations

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluates measures with the exchange rates they need."""
        return await self._converter.aggregate(query)

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the state of the source. Missing rates make single values unavailable, not the source."""
        return await self.source.read_state(workspace, now)
