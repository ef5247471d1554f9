"""Conformance tests of experiments."""

from dataclasses import replace
from datetime import timedelta

from service_core.analytics.experiments.ports import ExperimentOutcome, ExperimentReaderQuery, MixedPerson
from service_core.analytics.measures import Predicate, property_column
from service_core.testing.event_builder import EventBuilder, utc_instant, whole_utc_days
from service_core.testing.event_store.kit import EventStoreKit, Store

SPAN = whole_utc_days("2026-03-01", "2026-03-31")


def experiment_query(builder: EventBuilder) -> ExperimentReaderQuery:
    """Returns a query of the experiment ``x`` in March, with windows of two days, asked on 2026-06-01."""
    return ExperimentReaderQuery(
        scope=builder.query_scope(SPAN),
        exposure_names=frozenset({"exposed"}),
        exposure_conditions=(Predicate(property_column("id"), value="x"),),
        variant_column=property_column("variant"),
        window=timedelta(days=2),
        now=utc_instant("2026-06-01"),
    )


def expose(builder: EventBuilder, visitor: str, variant: object, at: str, experiment: str = "x") -> None:
    """Adds an exposure of a visitor to a variant."""
    data = {"id": experiment, "variant": variant}
    builder.add_event("exposed", at=at, visitor=visitor, event_data=data)


def counts_by_variant(outcome: ExperimentOutcome) -> dict[str, tuple[int, int, int, int]]:
    """Returns persons, open windows, converted persons and conversions by variant."""
    return {v.variant: (v.persons, v.open, v.converted, v.conversions) for v in outcome.variants}


class Experiments(EventStoreKit):
    """Tests of `read_experiment`."""

    async def test_outcomes_count_from_the_first_exposure_to_the_end_of_the_window(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """The window starts with the first exposure, which counts, and ends before the same instant two days later."""
        for visitor, bought in (("A1", "03"), ("A2", "05"), ("A3", "02"), ("A4", "04")):
            expose(builder, visitor, "a", "2026-03-03")
            expose(builder, visitor, "a", "2026-03-04")
            builder.add_event("signup", at=f"2026-03-{bought}", visitor=visitor)
        builder.add_event("signup", at="2026-03-04", visitor="A4")
        expose(builder, "B1", "b", "2026-03-03")
        expose(builder, "O1", "b", "2026-03-03", experiment="other")
        expose(builder, "O2", None, "2026-03-03")
        expose(builder, "O3", ["b"], "2026-03-03")
        expose(builder, "O4", "b", "2026-04-03")
        await store.append(builder.events)
        query = replace(experiment_query(builder), goal_names=frozenset({"signup"}))
        outcome = await store.read_experiment(query, 5)
        assert counts_by_variant(outcome) == {"a": (4, 0, 2, 3), "b": (1, 0, 0, 0)}
        assert outcome.mixed_persons == 0
        early = replace(query, now=utc_instant("2026-03-05"))
        assert counts_by_variant(await store.read_experiment(early, 5)) == {
            "a": (4, 0, 2, 3),
            "b": (1, 0, 0, 0),
        }
        early = replace(query, now=utc_instant("2026-03-04"))
        assert counts_by_variant(await store.read_experiment(early, 5)) == {
            "a": (4, 4, 1, 1),
            "b": (1, 1, 0, 0),
        }

    async def test_persons_exposed_to_several_variants_are_in_none(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Devices of one person are one person; persons of several variants are counted and listed."""
        expose(builder, "A1", "a", "2026-03-03")
        expose(builder, "M2", "a", "2026-03-03")
        expose(builder, "M2", "b", "2026-03-04")
        builder.add_event("exposed", at="2026-03-05", visitor="M3", strong_id="U",
                          event_data={"id": "x", "variant": "b"})  # fmt: skip
        builder.add_event("exposed", at="2026-03-06", visitor="M1", strong_id="U",
                          event_data={"id": "x", "variant": "a"})  # fmt: skip
        await store.append(builder.events)
        outcome = await store.read_experiment(experiment_query(builder), 5)
        assert counts_by_variant(outcome) == {"a": (1, 0, 0, 0)}
        assert outcome.mixed_persons == 2
        assert list(outcome.listed_mixed_persons) == [MixedPerson("u:U", "M1"), MixedPerson("v:M2", "M2")]
        assert len((await store.read_experiment(experiment_query(builder), 1)).listed_mixed_persons) == 1

    async def test_money_is_net_by_person_and_unknown_without_a_rate(
        self, store: Store, builder: EventBuilder
    ) -> None:
        """Refunds in the window reduce the amount of the person; money of another currency is marked."""
        for visitor, variant in (("A1", "a"), ("A2", "a"), ("A3", "a"), ("B1", "b")):
            expose(builder, visitor, variant, "2026-03-03")
        for visitor in ("A1", "A2"):
            builder.add_event("purchase", at="2026-03-03", visitor=visitor, order_id=visitor, revenue=900)
        builder.add_event("refund", at="2026-03-04", visitor="A2", order_id="A2", revenue=-400)
        builder.add_event("purchase", at="2026-03-06", visitor="A3", order_id="late", revenue=50)
        builder.add_event("purchase", at="2026-03-03", visitor="B1", order_id="B", revenue=5, currency="EUR")
        await store.append(builder.events)
        a, b = (await store.read_experiment(experiment_query(builder), 5)).variants
        assert (dict(a.payers_by_amount), a.foreign_money) == ({900: 1, 500: 1}, False)
        assert (a.converted, a.conversions) == (2, 2)
        assert b.foreign_money
