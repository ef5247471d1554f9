"""``touchpoint query``: metrics as a table and a small chart, asked of the running service."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final
from zoneinfo import ZoneInfo

import typer

from hosts.cli.options import DEFAULT_CONFIG, ConfigFile, output_console

if TYPE_CHECKING:
    from rich.table import Table

_MAX_BUCKETS: Final = 1000
_BUCKET_DETAILS: Final = ("date", "partial")
"""Columns beside a bucket that the table shows as the bucket itself."""


def query_running_service(
    metrics: Annotated[
        list[str], typer.Argument(metavar="METRIC", help="Metric ids; `touchpoint plugins` lists them.")
    ],
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIMENSION", help="Group by; repeat for up to three. `touchpoint plugins` lists them."
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(metavar="INTERVAL", help="Time series by auto, hour, day, week, month or quarter."),
    ] = None,
    range_: Annotated[
        str, typer.Option("--range", metavar="RANGE", help="A preset such as last_7_days, or FROM..TO.")
    ] = "last_30_days",
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="DIMENSION=VALUE", help="Filter by a value; repeat to combine."),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(metavar="N", help="Maximum rows; with --by and --over the number of largest groups."),
    ] = 20,
    api: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the service. [default: from the settings]")
    ] = None,
    key: Annotated[
        str, typer.Option(envvar="TOUCHPOINT_KEY", metavar="KEY", help="Agent key or named key.")
    ] = "",
    config: ConfigFile = DEFAULT_CONFIG,
) -> None:
    """Query metrics of the running service.

    Totals, split by dimensions or over time, with a small chart.
    """
    from hosts.cli.client import ApiClient

    if not key:
        raise typer.BadParameter("name a key with --key or TOUCHPOINT_KEY; `touchpoint key create` makes one")
    plan = {
        "metrics": metrics,
        "dimensions": by or [],
        "interval": over,
        "date_range": _parse_range(range_),
        "filters": [_parse_filter(text) for text in where or ()],
        **_options_for_complete_series(by or [], over, limit),
    }
    _print_query_answer_and_warnings(ApiClient(api or _api_address(config), key).post("/query", plan))


def _options_for_complete_series(
    dimensions: Sequence[str], interval: str | None, limit: int
) -> Mapping[str, Any]:
    """Returns how many rows a query gets; of a series by dimension whole groups, so that no series is cut."""
    if not interval:
        return {"limit": limit}
    if not dimensions:
        return {"limit": _MAX_BUCKETS}
    return {"top": {"limit": limit, "other": len(set(dimensions)) == 1}}


def _parse_range(text: str) -> Mapping[str, str]:
    start, dots, end = text.partition("..")
    return {"from": start, "to": end} if dots else {"preset": text}


def _parse_filter(text: str) -> Mapping[str, str]:
    dimension, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text}: write DIMENSION=VALUE", param_hint="--where")
    return {"dimension": dimension, "op": "eq", "value": value}


def _api_address(config: Path) -> str:
    from hosts.composition.load_settings import load_settings_with_environment, settings_folder
    from hosts.serving_addresses import with_serving_addresses

    settings = with_serving_addresses(load_settings_with_environment(config), settings_folder(config))
    return settings.http.effective_api_url


def _print_query_answer_and_warnings(answer: Mapping[str, Any]) -> None:
    console = output_console()
    resolved = answer["meta"]["resolved"]
    span, size = resolved["date_range"], resolved["interval"]
    zone = ZoneInfo(span["timezone"])
    first, last = (_format_time(span[end], "hour", zone) for end in ("from", "to"))
    console.print(f"{first} to {last}, {span['timezone']}", style="dim", markup=False)
    if size:
        _print_chart_of_first_metric_unless_split(answer, size, zone, console.width)
    console.print(_render_table(answer, size, zone))
    if answer["meta"]["truncated"]:
        console.print(f"The first {len(answer['rows'])} rows; --limit shows more.", style="dim")
    top = resolved.get("top")
    if top and not top["other"]:
        console.print(f"The largest {top['limit']} groups at most; --limit shows more.", style="dim")
    for item in answer["meta"]["unavailable"]:
        console.print(f"{item['metric']} is unavailable: {item['reason']}", style="yellow", markup=False)
    for near in answer["meta"]["did_you_mean"]:
        console.print(f"Did you mean {near['dimension']}={near['suggestion']}?", style="yellow", markup=False)


def _print_chart_of_first_metric_unless_split(
    answer: Mapping[str, Any], bucket_interval: str, zone: ZoneInfo, width: int
) -> None:
    """A chart of the first metric, when time is its only split and it is known."""
    from hosts.cli.terminal_charts import render_chart_of_bucket_maxima

    drawn = next(column["id"] for column in answer["columns"] if column["kind"] == "metric")
    rows = answer["rows"]
    is_split = any(column["kind"] == "dimension" for column in answer["columns"])
    if is_split or (rows and all(row[drawn] is None for row in rows)):
        return
    starts = [datetime.fromisoformat(row["bucket"]) for row in rows]
    output_console().print(
        render_chart_of_bucket_maxima(
            drawn, bucket_interval, starts, [row[drawn] or 0 for row in rows], zone, width
        ),
        "",
    )


def _render_table(answer: Mapping[str, Any], bucket_interval: str | None, zone: ZoneInfo) -> "Table":
    from rich.table import Table

    columns: Sequence[Mapping[str, Any]] = [
        column for column in answer["columns"] if column["id"] not in _BUCKET_DETAILS
    ]
    is_split = columns[0]["kind"] != "metric"
    table = Table(box=None, padding=(0, 1), show_footer=is_split)
    for place, column in enumerate(columns):
        numeric = column["kind"] == "metric"
        total = (
            _format_cell_or_unavailable(answer["totals"].get(column["id"]))
            if numeric
            else "total"
            if place == 0
            else ""
        )
        table.add_column(
            column["id"], justify="right" if numeric else "left", footer=total, footer_style="bold"
        )
    for row in answer["rows"]:
        table.add_row(
            *(
                _format_time(row[column["id"]], bucket_interval, zone)
                if column["kind"] == "bucket"
                else _format_cell_or_unavailable(row[column["id"]])
                for column in columns
            )
        )
    return table


def _format_time(instant: str, size: str | None, zone: ZoneInfo) -> str:
    from hosts.cli.terminal_charts import format_bucket

    return format_bucket(datetime.fromisoformat(instant), size or "", zone)


def _format_cell_or_unavailable(value: Any) -> Any:
    from rich.text import Text

    from hosts.cli.terminal_charts import format_number

    if value is None:
        return Text("unavailable", style="dim")
    return format_number(value) if isinstance(value, int | float) else Text(str(value))
