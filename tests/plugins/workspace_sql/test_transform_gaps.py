"""Hours over which a transform failed, on both engines."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from service_core.ingestion.ports import TransformGap

HOUR = datetime(2026, 7, 1, 12, tzinfo=UTC)


async def test_deleted_held_hours_are_returned_and_can_be_added_again(directory, initialized_deployment):
    own, gaps = initialized_deployment.workspace.id, directory.transform_gaps
    held = {TransformGap(own, HOUR + timedelta(hours=later), is_held=True) for later in (0, 2)}
    skipped = TransformGap(own, HOUR + timedelta(hours=1), is_held=False)
    await gaps.add_gaps({*held, skipped})
    assert await gaps.delete_held_gaps(UUID(int=9)) == []
    deleted = await gaps.delete_held_gaps(own)
    assert set(deleted) == held
    assert await gaps.list_gap_hours(own) == [skipped.hour]
    assert await gaps.delete_held_gaps(own) == []
    await gaps.add_gaps(deleted)
    await gaps.add_gaps([])
    assert await gaps.list_gap_hours(own) == sorted(gap.hour for gap in {*held, skipped})
