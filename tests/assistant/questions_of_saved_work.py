"""Questions about what the shop has saved: segments, links and exports. `store.save_work` makes them."""

import polars as pl

from tests.assistant import metrics as m
from tests.assistant.question import Question, Unknown, field_of, table
from tests.assistant.questions_of_visits import JUNE, by, total

PHONES, GERMANY = pl.col("device_type") == "mobile", pl.col("country") == "DE"


def of(kind, name, key):
    """Picks a field of the saved record with a name."""
    return lambda answer: next(row[key] for row in answer[kind] if row["name"] == name)


def in_segment(text, metric, segment, where):
    """A metric of a segment."""
    return total(
        text, metric, JUNE, lambda t: m.traffic(t, metric, JUNE, where=where), segment_id=f"segment:{segment}"
    )


SEGMENTS = [
    Question("Which segments are saved?", "list_segments", None, {"fields": ["name"]}, lambda a: sorted(row["name"] for row in a["segments"]), lambda _: ["Germany", "Phones"]),
    Question("What is in the segment Phones?", "get_segment", None, {"segmentId": "segment:Phones"}, lambda a: [(one["dimension"], one["op"], one["value"]) for one in a["filters"]], lambda _: [("device_type", "eq", "mobile")]),
    in_segment("Visits of the segment Phones", "sessions", "Phones", PHONES), in_segment("Visitors of the segment Germany", "visitors", "Germany", GERMANY),
    in_segment("Page views of the segment Germany", "pageviews", "Germany", GERMANY), in_segment("Signups of the segment Phones", "signups", "Phones", PHONES),
    by("Visits of the segment Phones by channel", "sessions", "channel", JUNE, lambda t: m.traffic(t, "sessions", JUNE, by="channel", where=PHONES), segment_id="segment:Phones"),
]  # fmt: skip

LINKS = [
    Question("Which links are there?", "list_links", None, {"fields": ["name", "kind"]}, table("links", "name", "kind"), lambda _: {"Spring reel": "direct", "Partner tee": "direct"}),
    Question("Where does the link Spring reel lead?", "list_links", None, {}, of("links", "Spring reel", "destination_url"), lambda _: "https://shop.example/sale"),
    Question("Which campaign does the link Partner tee carry?", "list_links", None, {}, of("links", "Partner tee", "utm_campaign"), lambda _: "tee_days"),
    Question("How many clicks had the direct link Spring reel (nobody sees them)?", "list_links", None, {}, of("links", "Spring reel", "clicks"), lambda _: None),
    Question("Who made the links?", "list_audit", None, {"resource_type": "tracking_link", "fields": ["action", "actor"]}, lambda a: [(row["action"], row["actor"]["name"]) for row in a["entries"]], lambda _: [("create", "Assistant")] * 2),
]  # fmt: skip

EXPORTS = [
    Question("How many rows has the export of the events of June?", "get_export", None, {"exportId": "export:events"}, field_of("row_count"), lambda t: t.between(JUNE).height),
    Question("How many rows has the export of the searches of June?", "get_export", None, {"exportId": "export:searches"}, field_of("row_count"), lambda t: t.between(JUNE, where=pl.col("name") == "search").height),
    Question("How many rows has the export of the persons of June?", "get_export", None, {"exportId": "export:users"}, field_of("row_count"), lambda t: t.between(JUNE)["person"].n_unique()),
    Question("Are the exports done?", "list_exports", None, {"limit": 3, "fields": ["type", "status", "truncated"]}, field_of("exports"), lambda _: [{"type": kind, "status": "completed", "truncated": False} for kind in ("users", "events", "events")]),
    Question("May an export cover three years?", "create_export", ("2023-06-01", "2026-06-01"), {"type": "events"}, field_of("status"), lambda _: Unknown("range_too_long")),
]  # fmt: skip
