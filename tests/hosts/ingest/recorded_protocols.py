"""Recorded requests of every built-in ingest protocol."""

from tests.hosts.ingest import recorded_plausible, recorded_segment

SAMPLES_BY_PROTOCOL = {
    "plausible": recorded_plausible.SAMPLES,
    "segment": recorded_segment.SAMPLES,
}
