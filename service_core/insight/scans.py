"""What a question of a caller looks at: its own workspace, and nothing that came with the request."""

from collections.abc import Sequence

from service_core.access.model import Caller
from service_core.insight.event_names import CONVERSIONS
from service_core.insight.measures import Predicate
from service_core.insight.ports import Scan
from service_core.kernel.ranges import Span


def scan_of(
    who: Caller,
    span: Span,
    *,
    filters: Sequence[Predicate] = (),
    include_bots: bool = False,
    order_refunds: bool = False,
) -> Scan:
    """The caller's scan of a span, in the zone, currency and conversion set of its workspace."""
    return Scan(
        workspace_id=who.workspace.id,
        span=span,
        currency=who.workspace.currency,
        zone=who.workspace.timezone,
        conversions=CONVERSIONS,
        filters=tuple(filters),
        include_bots=include_bots,
        order_refunds=order_refunds,
    )
