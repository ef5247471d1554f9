"""The scope of a caller's read: the caller's workspace, never one named in the request."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from service_core.access.analytics_settings import AnalyticsSettings
from service_core.access.models import Caller, Workspace
from service_core.analytics.event_rules.event_synonyms import DEFAULT_CONVERSION_SET, list_event_synonyms
from service_core.analytics.measures import Condition
from service_core.analytics.ports import ConversionSet, QueryScope
from service_core.kernel.time_ranges import TimeRange


@lru_cache(1024)
def own_conversions_or_builtin_with_triggers(
    rules: AnalyticsSettings, trigger_events: frozenset[str] = frozenset()
) -> ConversionSet:
    """Returns the conversion set of a workspace, or the built-in one; synonyms count as one.

    Args:
        rules: rules of the workspace. Its own event names replace all others.
        trigger_events: events that are sent to an ad platform; they are conversions too.
    """
    if rules.conversions is None:
        names = DEFAULT_CONVERSION_SET.names.union(*map(list_event_synonyms, trigger_events))
    else:
        names = frozenset().union(*map(list_event_synonyms, rules.conversions))
    if rules.any_revenue:
        names |= rules.revenue_events
    return ConversionSet(names, rules.any_revenue, rules.revenue_events, custom_revenue=rules.any_revenue)


def scope_for_caller(
    caller: Caller,
    span: TimeRange,
    *,
    filters: Sequence[Condition] = (),
    include_bots: bool = False,
    book_refunds_at_order: bool = False,
) -> QueryScope:
    """Returns the scope of a span in the caller's workspace, with its time zone, currency and conversion set."""
    return replace(
        scope_for_workspace_without_bots(caller.workspace, span),
        filters=tuple(filters),
        include_bots=include_bots,
        order_refunds=book_refunds_at_order,
    )


def scope_for_workspace_without_bots(workspace: Workspace, span: TimeRange) -> QueryScope:
    """Returns the scope of everything in a workspace and span, without bots."""
    return QueryScope(
        workspace_id=workspace.id,
        span=span,
        currency=workspace.currency,
        zone=workspace.timezone,
        conversions=own_conversions_or_builtin_with_triggers(workspace.rules, workspace.triggers),
        fee_rates=workspace.rules.fees,
    )
