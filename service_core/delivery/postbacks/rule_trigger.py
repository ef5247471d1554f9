"""Enqueues postbacks for stored events that match conversion rules."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from traceback import format_tb
from typing import Final
from uuid import UUID

from service_core.analytics.connections.models import Connection
from service_core.analytics.connections.ports import Connections
from service_core.changes.ports import Transactions
from service_core.delivery.postbacks.outbox import PostbackOutbox
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.delivery.postbacks.postback import Postback
from service_core.delivery.postbacks.rule_matching import (
    active_rule_matches,
    build_queued_or_skipped_postback,
)
from service_core.ingestion.pipeline import RuleCandidate
from service_core.kernel.clock import Clock
from service_core.workspace.rules.models import ConversionRule

_log: Final = logging.getLogger("touchpoint.postbacks")


@dataclass(frozen=True, slots=True)
class RuleTrigger:
    """Matches stored events against the rules of their workspace.

    Attributes:
        senders: those that are installed, by platform; a rule of another platform sends nothing.
        units: transactions of the workspace store, for rules.
        connections: the connections of every workspace.
        outbox: stores the postbacks.
        clock: returns the current time.
        settle_time: how long a postback waits for other reports of its order; 0 for not.
    """

    senders: Mapping[str, ConversionSender]
    units: Transactions
    connections: Connections
    outbox: PostbackOutbox
    clock: Clock
    settle_time: timedelta

    async def enqueue_postbacks(self, candidates: Iterable[RuleCandidate]) -> None:
        """Enqueues the postbacks of stored events; repeating it has no effect.

        Raises:
            StoreUnavailable: rules cannot be read or nothing can be kept; the same events come again.
        """
        by_workspace: dict[UUID, list[RuleCandidate]] = defaultdict(list)
        for candidate in candidates:
            by_workspace[candidate.event.workspace_id].append(candidate)
        for workspace_id, workspace_candidates in by_workspace.items():
            async with self.units.read(workspace_id) as unit:
                rules = [
                    one
                    for one in await unit.resources.list_all(ConversionRule)
                    if one.platform in self.senders
                ]
            postbacks = list(
                self._build_postbacks_of_matching_rules(
                    rules,
                    workspace_candidates,
                    await self.connections.list_connections_oldest_first(workspace_id),
                )
            )
            if postbacks:
                windows = {rule.id: timedelta(hours=rule.dedup_window_hours) for rule in rules}
                await self.outbox.add_postbacks_skipping_duplicates(postbacks, windows)

    def _build_postbacks_of_matching_rules(
        self,
        rules: Sequence[ConversionRule],
        candidates: Sequence[RuleCandidate],
        connections: Sequence[Connection],
    ) -> Iterator[Postback]:
        """Yields the postbacks of events; an event that a rule cannot read is logged and skipped."""
        now = self.clock()
        for triggered in candidates:
            for rule in rules:
                try:
                    if active_rule_matches(rule, triggered.event):
                        yield build_queued_or_skipped_postback(
                            rule,
                            triggered,
                            self.senders[rule.platform],
                            connections,
                            now,
                            settle_time=self.settle_time,
                        )
                except Exception as fault:  # noqa: BLE001 - all other events wait behind this one
                    frames = "".join(format_tb(fault.__traceback__))  # its text may repeat the event
                    _log.error("rule %s failed: %s\n%s", rule.id, type(fault).__name__, frames)
