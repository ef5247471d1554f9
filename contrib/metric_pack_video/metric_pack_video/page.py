"""The page of the videos: how often each is played, by how many people, and how many watch to the end."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from metric_pack_video.metrics import VIDEO_DIMENSION, VIDEO_METRICS
from service_core.plugin import PageRequest, PageSection, WebPage

RANGES: Final = {
    "last_7_days": "Last 7 days",
    "last_30_days": "Last 30 days",
    "last_12_months": "Last 12 months",
}
_DEFAULT_RANGE: Final = "last_30_days"


async def load_videos(request: PageRequest) -> Mapping[str, Any]:
    """Returns a row for each video of the chosen range."""
    chosen = request.parameters.get("range", "")
    preset = chosen if chosen in RANGES else _DEFAULT_RANGE
    answer = await request.api.query(
        {
            "metrics": [metric.id for metric in VIDEO_METRICS],
            "dimensions": [VIDEO_DIMENSION.id],
            "date_range": {"preset": preset},
            "limit": 100,
        }
    )
    return {
        "problem": answer.problem,
        "rows": answer.body.get("rows", []),
        "ranges": RANGES,
        "chosen": preset,
    }


VIDEO_PAGE: Final = WebPage(
    id="video",
    label="Videos",
    section=PageSection.EXPLORE,
    folder=Path(__file__).parent,
    template="video.html",
    load=load_videos,
)
