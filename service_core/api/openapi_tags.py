"""Descriptions of the groups of operations in OpenAPI."""

from collections.abc import Iterable, Mapping
from typing import Final

_TAG_DESCRIPTIONS: Final[Mapping[str, str]] = {
    "alerts": "Metrics that are reported when they leave a range.",
    "analyses": "Written analyses that embed reports.",
    "annotations": "What happened on a day or at a time, for charts.",
    "attribution": "Which visits led to conversions and installs.",
    "audit": "Who changed what, and undo.",
    "change-sets": "Several changes planned, applied and undone as one.",
    "connections": "Ad platforms and revenue providers of the workspace, with their credentials.",
    "dashboards": "Dashboards of saved reports.",
    "docs": "Search in this documentation.",
    "email-reports": "Reports and dashboards by e-mail.",
    "events": "Single events, their names and properties.",
    "experiments": "Experiments by variant: persons, conversions and money.",
    "exports": "Files with events, people or attribution.",
    "imports": "Files of recorded traffic, brought in by a job.",
    "ingest": "Events, batches of browsers and provider messages, at the ingest host.",
    "keys": "Keys and requests for keys.",
    "link host": "Trackable links as people follow them.",
    "links": "Trackable links.",
    "marketing": "Advertising, revenue, subscriptions and profit.",
    "oauth": "The OAuth authorization server.",
    "people": "People, retention, lifetime value and funnels.",
    "paths": "Paths by session, and the people and journeys behind numbers.",
    "query": "Metrics and dimensions in any combination.",
    "receipts": "How a number was made, with the records that add up to it.",
    "reports": "Saved reports.",
    "rules": "Conversion rules.",
    "scripts": "Proposed scripts of the tag container.",
    "segments": "Filters with a name, for every read over events.",
    "service": "Health, readiness and this description.",
    "share-links": "Public pages of saved work.",
    "signup": "New workspaces.",
    "traffic": "Visitors, sources, devices and places.",
    "webhooks": "Stored events that are sent to an address.",
    "workspace": "Settings, usage and onboarding of the workspace.",
}


def describe_tags(tags: Iterable[str]) -> list[dict[str, str]]:
    """Returns the OpenAPI tags, each once; a tag of a plugin is described by its name."""
    return [
        {"name": tag, "description": _TAG_DESCRIPTIONS.get(tag, f"Operations of {tag}.")}
        for tag in dict.fromkeys(tags)
    ]
