"""What a metric or a dimension names is there, or the service does not start."""

from dataclasses import replace

import pytest

from service_core.analytics.measures import entry_column, property_column, touch_column
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.errors import StartupError
from service_core.plugin import (
    Additivity,
    DailyMean,
    Dimension,
    Metric,
    MetricUnit,
    Predicate,
    Relation,
    count_distinct,
    count_rows,
)

METRIC = Metric(
    id="plays",
    label="Plays",
    unit=MetricUnit.COUNT,
    category="video",
    additivity=Additivity.ADDITIVE,
    measure=count_rows(Relation.EVENTS),
    dimensions=(),
    description="Plays.",
)


def catalog_error(metric=METRIC, **columns):
    places = {Relation(relation): column for relation, column in columns.items()}
    with pytest.raises(StartupError) as caught:
        Catalog.from_validated_definitions([metric], [Dimension("place", "Place", "A place.", places)])
    return str(caught.value)


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (
            count_rows(Relation.EVENTS, Predicate("evnt_name", value="play")),
            "events have no column 'evnt_name'",
        ),
        (count_distinct("persn", Relation.EVENTS), "events have no column 'persn'; did you mean 'person'?"),
        (DailyMean(count_distinct("visitor", Relation.SESSIONS)), "sessions have no column 'visitor'"),
        (
            count_rows(Relation.SUBSCRIPTIONS, Predicate(property_column("plan"), value="pro")),
            "subscriptions have no column 'data:plan'",
        ),
        (
            count_rows(Relation.CREDITS, Predicate(touch_column("chanel").or_else(touch_column("lyr")))),
            "did you mean 'touch.channel'?",
        ),
    ],
)
def test_metric_over_an_unknown_column_stops_the_start(measure, said):
    message = catalog_error(replace(METRIC, measure=measure))
    assert message.startswith("Metric 'plays' is invalid: ")
    assert said in message


def test_dimension_over_an_unknown_column_stops_the_start():
    assert catalog_error(sessions=entry_column("city_name")).startswith(
        "Dimension 'place' is invalid: sessions have no column 'entry.city_name'"
    )


def test_columns_of_event_data_and_of_other_sources_are_not_checked():
    measures = [
        count_rows(Relation.EVENTS, Predicate(property_column("any.thing|else"))),
        count_distinct("whatever", Relation.POSTBACKS),
    ]
    metrics = [replace(METRIC, id=f"m{n}", measure=one) for n, one in enumerate(measures)]
    assert list(Catalog.from_validated_definitions(metrics, []).metrics) == ["m0", "m1"]
