"""Recorded requests of every built-in ingest protocol."""

from tests.hosts.ingest import (
    recorded_ga4,
    recorded_matomo,
    recorded_mixpanel,
    recorded_plausible,
    recorded_posthog,
    recorded_segment,
    recorded_snowplow,
    recorded_umami,
)

SAMPLES_BY_PROTOCOL = {
    "ga4": recorded_ga4.SAMPLES,
    "matomo": recorded_matomo.SAMPLES,
    "mixpanel": recorded_mixpanel.SAMPLES,
    "plausible": recorded_plausible.SAMPLES,
    "posthog": recorded_posthog.SAMPLES,
    "segment": recorded_segment.SAMPLES,
    "snowplow": recorded_snowplow.SAMPLES,
    "umami": recorded_umami.SAMPLES,
}
