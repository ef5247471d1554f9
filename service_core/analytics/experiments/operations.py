"""`GET /experiments` and `GET /experiments/results`."""

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.experiments.compare import build_variants
from service_core.analytics.experiments.ports import (
    ExperimentOutcome,
    ExperimentReader,
    ExperimentReaderQuery,
    MixedPerson,
)
from service_core.analytics.experiments.schemas import (
    ExcludedPerson,
    ExperimentList,
    ExperimentQuery,
    ExperimentResults,
    ExperimentSummary,
    ExposureQuery,
)
from service_core.analytics.experiments.statistics import POWER
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.funnels.ports import FunnelReader, FunnelReaderQuery, FunnelStartValuesQuery
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.measures import Predicate, property_column
from service_core.analytics.people.identity_resolution import user_id_of_person
from service_core.analytics.ports import QueryScope
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.time_ranges import TimeRange

_MAX_EXPERIMENTS: Final = 100
_MAX_LISTED_PERSONS: Final = 20


@operation("GET /experiments", tag="experiments", tool="list_experiments")
async def list_experiments(
    query: ExposureQuery, *, caller: Caller, funnel_reader: FunnelReader, freshness: EventFreshness
) -> ExperimentList:
    """Lists the experiments that persons were exposed to, with their number of persons; at most 100."""
    date_range = query.resolve_range_or_default(caller)
    exposures = FunnelReaderQuery(
        scope=scope_for_caller(caller, date_range.span, include_bots=query.include_bots),
        steps=(query.exposure_names,),
        window=timedelta(days=1),
        now=caller.now,
    )
    values = await funnel_reader.list_start_values(
        FunnelStartValuesQuery(exposures, property_column(query.experiment_property), _MAX_EXPERIMENTS)
    )
    return ExperimentList(
        experiments=[
            ExperimentSummary(experiment=entry.value, persons=entry.count)
            for entry in values
            if entry.value is not None
        ],
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


@operation("GET /experiments/results", tag="experiments", tool="get_experiment_results")
async def get_experiment_results(
    query: ExperimentQuery,
    *,
    caller: Caller,
    experiment_reader: ExperimentReader,
    converter: CurrencyConverter,
    freshness: EventFreshness,
) -> ExperimentResults:
    """Compares the variants of an experiment: persons, conversions and net revenue, each with a confidence interval.

    A person belongs to the variant of the first exposure in the range; persons exposed to several variants are left
    out and counted. ``smallest_detectable_difference`` says what the data would show in 80 % of experiments.
    """
    if not query.experiment:
        raise BadRequest("experiment is required", "invalid_parameter", field="experiment")
    date_range = query.resolve_range_or_default(caller)
    outcome = await _read_with_converted_money(_to_reader_query(query, caller), experiment_reader, converter)
    return ExperimentResults(
        experiment=query.experiment,
        goal=query.goal,
        variants=build_variants(
            outcome.variants, query.control, float(query.confidence), caller.workspace.currency
        ),
        excluded_persons=outcome.mixed_persons,
        excluded=_to_excluded_persons(outcome.listed_mixed_persons),
        window_days=query.window_days,
        confidence=query.confidence,
        power=Decimal(str(POWER)),
        currency=caller.workspace.currency,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


def _to_reader_query(query: ExperimentQuery, caller: Caller) -> ExperimentReaderQuery:
    span = query.resolve_range_or_default(caller).span
    is_of_experiment = Predicate(property_column(query.experiment_property), value=query.experiment)
    return ExperimentReaderQuery(
        scope=scope_for_caller(caller, span, include_bots=query.include_bots),
        exposure_names=query.exposure_names,
        exposure_conditions=(is_of_experiment,),
        variant_column=property_column(query.variant_property),
        window=timedelta(days=query.window_days),
        now=caller.now,
        goal_names=list_event_synonyms(query.goal) if query.goal else None,
    )


async def _read_with_converted_money(
    query: ExperimentReaderQuery, reader: ExperimentReader, converter: CurrencyConverter
) -> ExperimentOutcome:
    """Returns the outcome with money in the currency of the workspace, as far as rates exist."""
    span = TimeRange(query.scope.span.start, query.scope.span.end + query.window)

    def read_in_scope(scope: QueryScope) -> Awaitable[ExperimentOutcome]:
        converted = replace(query.scope, rates=scope.rates)
        return reader.read_experiment(replace(query, scope=converted), _MAX_LISTED_PERSONS)

    return await converter.run_and_repeat_with_missing_rates(
        replace(query.scope, span=span),
        read_in_scope,
        lambda outcome: any(variant.foreign_money for variant in outcome.variants),
    )


def _to_excluded_persons(persons: Sequence[MixedPerson]) -> list[ExcludedPerson]:
    return [
        ExcludedPerson(user_id=user_id_of_person(mixed.person), visitor_id=mixed.visitor_id)
        for mixed in persons
    ]


OPERATIONS = (list_experiments, get_experiment_results)
