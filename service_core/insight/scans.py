"""What a question of a caller looks at: its own workspace, and nothing that came with the request."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from service_core.access.model import Caller, Workspace
from service_core.access.rules import Rules
from service_core.insight.event_names import CONVERSIONS, same_as
from service_core.insight.measures import Predicate
from service_core.insight.ports import ConversionSet, Scan
from service_core.kernel.ranges import Span


@lru_cache(1024)
def conversion_set(rules: Rules, triggers: frozenset[str] = frozenset()) -> ConversionSet:
    """What converts by a workspace's own rules, else by those of the house; synonyms count as one.

    Args:
        rules: of the workspace. Names of its own stand in place of all others.
        triggers: events that are sent to an ad platform; they convert as well.
    """
    if rules.conversions is None:
        names = CONVERSIONS.names.union(*map(same_as, triggers))
        return replace(CONVERSIONS, names=names, any_revenue=rules.any_revenue)
    return ConversionSet(frozenset().union(*map(same_as, rules.conversions)), rules.any_revenue)


def scan_of(
    who: Caller,
    span: Span,
    *,
    filters: Sequence[Predicate] = (),
    include_bots: bool = False,
    order_refunds: bool = False,
) -> Scan:
    """The caller's scan of a span, in the zone, currency and conversion set of its workspace."""
    return replace(
        workspace_scan(who.workspace, span),
        filters=tuple(filters),
        include_bots=include_bots,
        order_refunds=order_refunds,
    )


def workspace_scan(workspace: Workspace, span: Span) -> Scan:
    """Everything of a workspace in a span but bots."""
    return Scan(
        workspace_id=workspace.id,
        span=span,
        currency=workspace.currency,
        zone=workspace.timezone,
        conversions=conversion_set(workspace.rules, workspace.triggers),
    )
