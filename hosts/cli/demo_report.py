"""Reads of the demo from the service it started, and their display."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.table import Table

from hosts.cli.client import ApiClient
from hosts.cli.terminal_charts import (
    format_number,
    render_chart_of_bucket_maxima,
    render_name_value_table,
    render_ranking_table_with_bars,
)

DAYS: Final = 7
"""Days that are shown; the link to the page opens on as many."""


def fetch_and_print_last_seven_days(client: ApiClient, now: datetime, console: Console) -> None:
    """Print totals, a chart and three rankings of the last days."""
    zone = ZoneInfo(str(client.get("/workspace")["timezone"]))
    today = now.astimezone(zone).date()
    span = {
        "start_date": today.fromordinal(today.toordinal() - DAYS + 1).isoformat(),
        "end_date": today.isoformat(),
    }
    overview = client.get("/overview", aggregation="hour", **span)
    bots = client.get("/overview", include_bots="true", **span)
    referrers = client.get("/traffic", type="referrer", limit=8, **span)
    pages = client.get("/traffic", type="page", limit=8, **span)
    browsers = client.get("/devices", type="browser", limit=8, **span)
    series = overview["time_series"]
    crawled = bots["pageviews_total"] - overview["pageviews_total"]
    console.print(
        render_name_value_table(
            "The last seven days",
            [
                ("Visitors", format_number(overview["visitors_total"])),
                ("Sessions", format_number(overview["sessions_total"])),
                ("Page views", format_number(overview["pageviews_total"])),
                ("Page views by crawlers, left out", format_number(crawled)),
            ],
        ),
        "",
        render_chart_of_bucket_maxima(
            "Page views",
            "hour",
            [datetime.fromisoformat(point["timestamp"]) for point in series],
            [point["pageviews"] for point in series],
            zone,
            console.width,
        ),
        "",
        _ranking_table("Referrers, by visitors", referrers, console.width),
        "",
        _ranking_table("Pages, by views", pages, console.width),
        "",
        _ranking_table("Browsers, by visitors", browsers, console.width),
    )


def _ranking_table(title: str, answer: Mapping[str, Any], width: int) -> Table:
    return render_ranking_table_with_bars(
        title, [(row["name"], row["count"], row["percentage"]) for row in answer["data"]], width
    )
