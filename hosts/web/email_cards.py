"""Draws reports and dashboards as e-mails: the cards of the pages, with charts made of table cells.

Readers of e-mails drop SVG and style sheets, so charts are tables with coloured cells, and everything is said by
attributes that every reader knows. The same document is the preview in the web application.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from jinja2 import Environment, PackageLoader, select_autoescape

from hosts.web.cards.card import Answer, Card, DisplayContext, Number, Step, Table, parse_instant
from hosts.web.cards.json_values import build_display_context, to_json_values
from hosts.web.cards.outcomes import build_outcome_card
from hosts.web.cards.reports import build_report_card_by_answer_fields
from hosts.web.charts.plot_model import Plot
from hosts.web.charts.proportion_charts import Row
from hosts.web.charts.time_labels import format_inclusive_range
from service_core.analytics.query.catalog import Catalog
from service_core.delivery.notifications.email_report_sender import EmailedRun

CHART_HEIGHT: Final = 120
"""Height of a column of 100 per cent in pixels."""

MAX_COLUMNS: Final = 62
"""Columns that fit the width of an e-mail."""

MAX_ROWS: Final = 20
"""Rows of a table; the page has all."""


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A bucket of a chart: its column in pixels, and its name and value in words."""

    height: int
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class ColumnChart:
    """A series over time: its name where there are several, and its first and last bucket in words."""

    name: str
    columns: Sequence[ChartColumn]
    axis: tuple[str, str]


@dataclass(frozen=True, slots=True)
class ChartBar:
    """A row with a bar of some per cent of the width."""

    name: str
    text: str
    share: str
    width: int


@dataclass(frozen=True, slots=True)
class EmailCard:
    """A card as an e-mail shows it.

    Attributes:
        message: why it shows nothing; empty if it does.
        numbers: values above the chart.
        charts: one per series over time.
        bars: of a list.
        table: rows without a chart.
        notes: what a reader has to know.
    """

    title: str
    message: str = ""
    numbers: Sequence[Number] = ()
    charts: Sequence[ColumnChart] = ()
    bars: Sequence[ChartBar] = ()
    table: Table | None = None
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class EmailDocument:
    """What the templates of an e-mail show.

    Attributes:
        covered: range and time zone in words.
        page_url: of the report or dashboard in the web application.
        unsubscribe_url: of the recipient; None in a test and a preview.
    """

    subject: str
    frequency: str
    workspace: str
    covered: str
    cards: Sequence[EmailCard]
    page_url: str
    unsubscribe_url: str | None


@dataclass(frozen=True, slots=True)
class CardEmailRenderer:
    """Implements `EmailReportRenderer` with the cards of the pages.

    Attributes:
        catalog: names of metrics and dimensions.
    """

    catalog: Catalog

    def render_email(self, emailed: EmailedRun) -> tuple[str, str]:
        """Returns the e-mail as plain text and as HTML."""
        setting = build_display_context(self.catalog, emailed.workspace)
        reports = {str(id_): (report.name, report.chart) for id_, report in emailed.reports.items()}
        run = to_json_values(emailed.run)
        document = EmailDocument(
            emailed.email_report.name,
            emailed.email_report.frequency,
            emailed.workspace.name,
            describe_covered_range(run, setting),
            build_email_cards(run, reports, setting),
            emailed.page_url,
            emailed.unsubscribe_url,
        )
        return render_document(document, "txt"), render_document(document, "html")


def render_document(document: EmailDocument, form: Literal["txt", "html"]) -> str:
    """Returns an e-mail as plain text or as HTML."""
    template = _create_template_environment().get_template(f"email_report.{form}")
    return template.render(mail=document, chart_height=CHART_HEIGHT)


def describe_covered_range(run: Answer, setting: DisplayContext) -> str:
    """Returns the range of a run in words, with the time zone."""
    first, last = (parse_instant(run["range"][end]) for end in ("from", "to"))
    return f"{format_inclusive_range(first, last, setting.zone)}, {setting.zone.key}"


def build_email_cards(
    run: Answer, reports: Mapping[str, tuple[str, str | None]], setting: DisplayContext
) -> list[EmailCard]:
    """Returns the cards of the run of a report or dashboard.

    Args:
        run: the answer of the run.
        reports: name and chart style of its reports by id.
        setting: of the workspace.
    """
    if "report" in run:
        chart = reports[run["report"]["id"]][1]
        return [build_email_card(build_report_card_by_answer_fields(run, chart, setting))]
    cards = []
    for outcome in run["cards"]:
        name, chart = reports.get(outcome["report_id"], (None, None))
        cards.append(build_email_card(build_outcome_card(outcome, name, chart, setting, outcome["size"])))
    return cards


def build_email_card(card: Card) -> EmailCard:
    """Returns the card of a page as an e-mail shows it."""
    title, notes, figure = card.title, card.notes, card.figure
    if card.shape == "message":
        return EmailCard(title, message=str(figure))
    if card.shape == "numbers":
        return EmailCard(title, numbers=figure, notes=notes)
    if card.shape == "rows":
        return EmailCard(title, numbers=card.numbers, bars=_bars_of_rows(figure), notes=notes)
    if card.shape == "steps":
        return EmailCard(title, numbers=card.numbers, bars=_bars_of_steps(figure), notes=notes)
    if card.shape == "plot":
        return _plot_email_card(card, figure)
    table = figure if card.shape == "table" else card.table
    return EmailCard(title, numbers=card.numbers, table=_first_rows(table), notes=notes)


def _plot_email_card(card: Card, plot: Plot) -> EmailCard:
    """Returns a chart of columns for each series; one with too many buckets has its table instead."""
    if not 0 < len(plot.stops) <= MAX_COLUMNS:
        return EmailCard(card.title, numbers=card.numbers, table=_first_rows(card.table), notes=card.notes)
    axis = plot.stops[0].title, plot.stops[-1].title
    charts = [
        ColumnChart(name if len(plot.names) > 1 else "", _columns_of_series(plot, number), axis)
        for number, name in enumerate(plot.names, 1)
    ]
    return EmailCard(card.title, numbers=card.numbers, charts=charts, notes=card.notes)


def _columns_of_series(plot: Plot, series_number: int) -> list[ChartColumn]:
    """Returns a column per bucket; one of an unknown value has no height and says so."""
    columns = []
    for stop in plot.stops:
        share = next((plot.zero - y for y, number in stop.dots if number == series_number), 0.0)
        text = next(text for number, _, text in stop.values if number == series_number)
        columns.append(ChartColumn(max(round(share * CHART_HEIGHT / 100), 0), stop.title, text))
    return columns


def _bars_of_rows(rows: Sequence[Row]) -> list[ChartBar]:
    return [ChartBar(row.name, row.text, row.share, round(row.width)) for row in rows[:MAX_ROWS]]


def _bars_of_steps(steps: Sequence[Step]) -> list[ChartBar]:
    return [
        ChartBar(f"{step.number}. {step.name}", step.count, step.rate, round(step.width)) for step in steps
    ]


def _first_rows(table: Table | None) -> Table | None:
    return None if table is None else Table(table.head, table.rows[:MAX_ROWS], table.names)


@cache
def _create_template_environment() -> Environment:
    return Environment(
        loader=PackageLoader("hosts.web"),
        autoescape=select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
