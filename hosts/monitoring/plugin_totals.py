"""Calls and faults of plugins in a running service, read from its metrics address."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Final
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

_ANSWER_SECONDS: Final = 5.0


@dataclass
class PluginTotals:
    """Calls of one plugin since the service was started.

    Attributes:
        calls: finished calls.
        faults: those that raised an exception that their port does not declare.
        seconds: time of all calls.
    """

    calls: int = 0
    faults: int = 0
    seconds: float = 0.0


def read_plugin_totals(address: str) -> Mapping[str, PluginTotals] | None:
    """Returns plugin -> its calls in the processes that report to a metrics address; None if no metrics are read there.

    Args:
        address: ``HOST:PORT``, as in ``monitoring.listen``.
    """
    try:
        with urlopen(f"http://{address}/metrics", timeout=_ANSWER_SECONDS) as response:
            return sum_plugin_totals(response.read().decode())
    except (OSError, HTTPException, ValueError):
        return None


def sum_plugin_totals(metrics: str) -> Mapping[str, PluginTotals]:
    """Returns plugin -> its calls, summed over methods.

    Args:
        metrics: in the text format of Prometheus.
    """
    totals: dict[str, PluginTotals] = defaultdict(PluginTotals)
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            match sample.name:
                case "touchpoint_plugin_call_seconds_count":
                    totals[sample.labels["plugin"]].calls += int(sample.value)
                case "touchpoint_plugin_call_seconds_sum":
                    totals[sample.labels["plugin"]].seconds += sample.value
                case "touchpoint_plugin_faults_total":
                    totals[sample.labels["plugin"]].faults += int(sample.value)
    return dict(totals)
