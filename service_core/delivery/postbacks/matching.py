"""From events that are stored to the outbox: the rules of their workspace, asked for those they wait for alone."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from traceback import format_tb
from typing import Final
from uuid import UUID

from service_core.changes.ports import Units
from service_core.delivery.postbacks.firing import fired, matches
from service_core.delivery.postbacks.outbox import Outbox
from service_core.delivery.postbacks.ports import ConversionSender
from service_core.delivery.postbacks.postback import Postback
from service_core.insight.connections.model import Connection
from service_core.insight.connections.ports import Connections
from service_core.intake.pipeline import Triggered
from service_core.kernel.clock import Clock
from service_core.workspace.rules.model import Rule

_log: Final = logging.getLogger("touchpoint.postbacks")


@dataclass(frozen=True, slots=True)
class Matching:
    """Puts what rules send into the outbox.

    Attributes:
        senders: those that are installed, by platform; a rule of another platform sends nothing.
        units: where rules are kept.
        connections: what is connected.
        outbox: where conversions wait.
        clock: the present.
    """

    senders: Mapping[str, ConversionSender]
    units: Units
    connections: Connections
    outbox: Outbox
    clock: Clock

    async def match(self, triggered: Iterable[Triggered]) -> None:
        """Match stored events that some rule of their workspace may wait for; twice is as good as once.

        Raises:
            StoreUnavailable: rules cannot be read or nothing can be kept; the same events come again.
        """
        by_workspace: dict[UUID, list[Triggered]] = defaultdict(list)
        for each in triggered:
            by_workspace[each.event.workspace_id].append(each)
        for workspace_id, found in by_workspace.items():
            async with self.units.look(workspace_id) as unit:
                rules = [one for one in await unit.resources.every(Rule) if one.platform in self.senders]
            postbacks = list(self._fired(rules, found, await self.connections.connections(workspace_id)))
            if postbacks:
                windows = {rule.id: timedelta(hours=rule.dedup_window_hours) for rule in rules}
                await self.outbox.add_postbacks(postbacks, windows)

    def _fired(
        self, rules: Sequence[Rule], found: Sequence[Triggered], connections: Sequence[Connection]
    ) -> Iterator[Postback]:
        """What becomes of events; one a rule cannot read holds up nothing."""
        now = self.clock()
        for triggered in found:
            for rule in rules:
                try:
                    if matches(rule, triggered.event):
                        yield fired(rule, triggered, self.senders[rule.platform], connections, now)
                except Exception as fault:  # noqa: BLE001 - all other events wait behind this one
                    frames = "".join(format_tb(fault.__traceback__))  # its text may repeat the event
                    _log.error("rule %s failed: %s\n%s", rule.id, type(fault).__name__, frames)
