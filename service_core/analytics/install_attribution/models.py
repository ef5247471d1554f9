"""Signals that an app sends about its install."""

from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import parse_qs, urlsplit

from service_core.ingestion.models import Event


@dataclass(frozen=True, slots=True)
class InstallSignals:
    """The signals of an install, the strongest first.

    Attributes:
        lyr: link tag the app was opened with.
        referrer_lyr: link tag of the install referrer.
        click_id: click id of the request, or of the install referrer.
        click_id_type: type of the click id.
        client_ip: IP address of the device.
    """

    lyr: str | None = None
    referrer_lyr: str | None = None
    click_id: str | None = None
    click_id_type: str | None = None
    client_ip: str | None = None

    def with_referrer_keeping_own_click_id(self, install_referrer: str | None) -> Self:
        """Returns the signals extended by an install referrer: a URL or a query string."""
        values = _parse_params_and_nested_referrer(install_referrer or "")
        signals = replace(self, referrer_lyr=values.get("lyr"))
        if self.click_id is not None:
            return signals
        return replace(
            signals, click_id=values.get("tp_click_id"), click_id_type=values.get("tp_click_id_type")
        )


def _parse_params_and_nested_referrer(url_or_query: str) -> dict[str, str]:
    try:
        query = (
            urlsplit(url_or_query).query
            if "://" in url_or_query or url_or_query.startswith("?")
            else url_or_query
        )
        values = {name: sent[-1] for name, sent in parse_qs(query, max_num_fields=100).items()}
    except ValueError:
        return {}
    return _parse_params_and_nested_referrer(values["referrer"]) | values if "referrer" in values else values


def visit_key(event: Event) -> str:
    """Returns the key of the visit of an event, by which `MatchedVisits` marks visits."""
    return f"{event.visitor_id}\x1f{event.session_id}"
