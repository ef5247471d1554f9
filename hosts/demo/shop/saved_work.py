"""Reports, a dashboard, an analysis, segments and a conversion rule that the owner of the example shop has saved."""

import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from hosts.demo.shop.catalog import LINKS
from service_core.kernel.errors import StartupError

LAST_30_DAYS: Final = {"preset": "last_30_days"}

WriteApi = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Sends a ``POST`` request with a path and a body to the API as the owner; returns the saved record."""

_REPORTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "revenue": {"name": "Revenue", "source": "catalog", "metric_id": "revenue", "chart": "number"},
    "orders": {"name": "Orders", "source": "catalog", "metric_id": "orders", "chart": "number"},
    "aov": {"name": "Average order value", "source": "catalog", "metric_id": "aov", "chart": "number"},
    "visitors": {"name": "Visitors", "source": "catalog", "metric_id": "visitors", "chart": "area"},
    "channels": {
        "name": "Revenue by channel", "source": "query",
        "plan": {"metrics": ["attributed_orders", "attributed_revenue"], "dimensions": ["channel"]},
    },
    "channel_days": {
        "name": "Visitors by channel", "source": "query",
        "plan": {"metrics": ["visitors"], "dimensions": ["channel"], "interval": "day"},
    },
    "campaigns": {
        "name": "Campaigns that sell", "source": "query",
        "description": "Orders and revenue of each campaign, by its last touch.",
        "plan": {"metrics": ["attributed_orders", "attributed_revenue"], "dimensions": ["utm_campaign"]},
    },
    "checkout": {
        "name": "From product to order", "source": "query",
        "steps": ["product_viewed", "add_to_cart", "checkout_started", "purchase"],
    },
    "countries": {"name": "Visitors by country", "source": "catalog", "metric_id": "visitors", "dimension": "country"},
}  # fmt: skip
_DASHBOARD_CARDS: Final = (
    *(("revenue", "sm"), ("orders", "sm"), ("aov", "sm")),
    *(("visitors", "md"), ("checkout", "md")),
    *(("campaigns", "md"), ("channels", "md"), ("channel_days", "lg")),
)
_SEGMENTS: Final = (
    {"name": "On the phone", "filters": [{"dimension": "device_type", "op": "eq", "value": "mobile"}]},
    {"name": "From paid search", "filters": [
        {"dimension": "utm_medium", "op": "eq", "value": "cpc"}]},
    {"name": "Germany, France and the Netherlands", "filters": [
        {"dimension": "country", "op": "in", "value": ["DE", "FR", "NL"]}]},
)  # fmt: skip
_ANNOTATIONS: Final = ((19, "Autumn sale starts"), (8, "Kettle review published"))
"""How many days ago something happened, and what."""
_ANALYSIS: Final = """# What the paid campaigns brought

The **cart campaign** has the fewest visits and the best orders; the autumn sale brings many visitors who look and leave.

::report[{campaigns}]

# Where people give up

Most leave before the cart. Once somebody has begun to check out, most of them buy.

::report[{checkout}]
"""


async def create_links(write: WriteApi) -> dict[str, str]:
    """Creates the trackable links; returns their tags by name."""
    tags = {}
    for link in LINKS:
        saved = await write("/links", {"link": link})
        tags[str(link["name"])] = str(saved["tracking_identifier"])
    return tags


async def create_saved_work(write: WriteApi, rule_platform: str, today: date) -> None:
    """Creates reports, a dashboard, an analysis, segments, annotations and a conversion rule.

    Args:
        write: sends the requests.
        today: the local date, which the annotations lie before.
        rule_platform: connected ad platform that the rule sends orders to.
    """
    ids = {}
    for name, report in _REPORTS.items():
        saved = await write("/reports", {"report": {**report, "default_range": LAST_30_DAYS}})
        ids[name] = str(saved["id"])
    cards = [{"report_id": ids[name], "size": size} for name, size in _DASHBOARD_CARDS]
    dashboard = {
        "name": "The shop at a glance",
        "date_range": LAST_30_DAYS,
        "layout": {"v": 1, "cards": cards},
    }
    await write("/dashboards", {"dashboard": dashboard})
    embedded = [ids["campaigns"], ids["checkout"]]
    body = _ANALYSIS.format_map(ids)
    analysis = {"title": "Autumn sale, a first look", "body_md": body, "report_ids": embedded}
    await write("/analyses", {"analysis": {**analysis, "date_range": LAST_30_DAYS}})
    for segment in _SEGMENTS:
        await write("/segments", {"segment": segment})
    for days_ago, text in _ANNOTATIONS:
        day = today - timedelta(days=days_ago)
        await write("/annotations", {"annotation": {"text": text, "date": day.isoformat()}})
    await write("/rules", {"rule": {
        "name": "Orders", "trigger_event": "purchase", "platform": rule_platform, "platform_event": "Purchase",
        "active": False,
    }})  # fmt: skip


def record_of_answer(method: str, path: str, status: int, body: bytes) -> Mapping[str, Any]:
    """Returns the saved record of an answer to a write.

    Raises:
        StartupError: it was refused.
    """
    answer = json.loads(body)
    if status != 200:  # noqa: PLR2004 - the one status of a write that was applied
        raise StartupError(
            f"The example shop was refused {method} {urlsplit(path).path}: {answer.get('error')}"
        )
    return dict(answer["data"])
