"""Finds ad platforms that sent paid visits and whose spend is unknown."""

from dataclasses import dataclass, replace
from typing import Final

from service_core.analytics.measures import FilterOperator, Predicate, Relation, count_rows, entry_column
from service_core.analytics.metrics.revenue import PAID_CHANNELS
from service_core.analytics.ports import AggregateQuery, AggregateReader, QueryScope
from service_core.commerce.ads.measured_platforms import MATCHED_TOUCH_COLUMNS, MeasuredPlatforms

_IS_PAID: Final = Predicate(entry_column("channel"), FilterOperator.IN, PAID_CHANNELS)
_PAID_SESSIONS: Final = count_rows(Relation.SESSIONS, _IS_PAID)
_BY_TOUCH_VALUES: Final = tuple(
    {str(Relation.SESSIONS): entry_column(name)} for name in MATCHED_TOUCH_COLUMNS
)


@dataclass(frozen=True, slots=True)
class UnmeasuredPlatforms:
    """Implements `UnmeasuredPlatformReader` by the sessions of paid channels."""

    events: AggregateReader
    measured: MeasuredPlatforms

    async def list_unmeasured_platforms(self, scope: QueryScope) -> tuple[str, ...]:
        """Returns the platforms of paid sessions that are not connected and never reported spend, sorted."""
        query = AggregateQuery(replace(scope, filters=()), (_PAID_SESSIONS,), dimensions=_BY_TOUCH_VALUES)
        sessions = await self.events.aggregate(query)
        if not sessions.rows:
            return ()
        touches = await self.measured.load_touch_platforms(scope.workspace_id)
        width = len(MATCHED_TOUCH_COLUMNS)
        platforms = {touches.paid_platform_of_touch(*row[:width]) for row in sessions.rows if row[width]}
        return tuple(sorted(platform for platform in platforms - touches.measured if platform))
