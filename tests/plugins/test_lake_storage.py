"""The storages of a lake pass the kit."""

from urllib.parse import quote

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.lake_storage import LakeStorageConformance


class TestLocalLake(LakeStorageConformance):
    @pytest.fixture
    async def lake(self, tmp_path):
        lake = collect_plugins_into_registry().open_adapter(
            "lake", "local:///deep/lake", base_folder=tmp_path
        )
        await lake.start()
        return lake

    @pytest.mark.parametrize("path", ["../x", "/etc/passwd", "W1/../x", "", "W1//x", "W1/.x"])
    async def test_path_cannot_leave_the_folder(self, lake, path):
        for call in (lake.read_file, lake.delete_file, lake.list_files):
            with pytest.raises(ValueError, match="plain names"):
                await call(path)

    async def test_only_the_user_of_the_service_can_read_the_files(self, lake, tmp_path):
        await lake.write_file("W1/events/a", b"x")
        folder = tmp_path / "deep" / "lake" / "W1" / "events"
        assert (folder / "a").stat().st_mode & 0o777 == 0o600
        assert folder.stat().st_mode & 0o777 == 0o700


class TestS3Lake(LakeStorageConformance):
    @pytest.fixture
    def lake(self, bucket, tmp_path):
        endpoint = quote(bucket.url, safe="")
        return collect_plugins_into_registry().open_adapter(
            "lake", f"s3://key:secret@exports/lake?endpoint={endpoint}", base_folder=tmp_path
        )
