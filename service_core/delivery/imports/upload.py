"""Receives the file of an import at a signed link, in pieces, into the private file storage."""

import asyncio
import hashlib
import hmac
import re
from collections.abc import AsyncIterable
from contextlib import suppress
from datetime import datetime
from typing import BinaryIO, Final
from uuid import UUID

from service_core.access.models import Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.delivery.exports.ports import ExportStorage, JobQueue, JobQueueUnavailable
from service_core.delivery.imports.import_worker import delete_uploaded_file_or_log
from service_core.delivery.imports.models import ImportJob, ImportStatus
from service_core.delivery.imports.ports import Imports
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Conflict, Forbidden, PayloadTooLarge, Unprocessable
from service_core.kernel.ids import new_id
from service_core.kernel.settings import Settings

_PURPOSE: Final = b"import upload"
_UNIX_TIME: Final = re.compile(r"[1-9][0-9]{0,11}", re.ASCII)


def sign_upload(secret: bytes, import_id: UUID, expires: int) -> str:
    """Returns the signature of an upload link in hex.

    Args:
        secret: secret of the workspace; the key is derived from it, for this purpose alone.
        import_id: the job.
        expires: Unix time at which the link ends.
    """
    key = hmac.digest(secret, _PURPOSE, hashlib.sha256)
    return hmac.digest(key, f"{import_id}.{expires}".encode(), hashlib.sha256).hex()


def upload_path(secret: bytes, job: ImportJob) -> str:
    """Returns path and query of the link that takes the file of a job."""
    expires = int((job.due_at or job.created_at).timestamp())
    signature = sign_upload(secret, job.id, expires)
    return f"/imports/upload/{job.id}?expires={expires}&sig={signature}"


class ImportUploads:
    """Stores uploaded files.

    Args:
        jobs: the rows of the jobs.
        storage: takes the files.
        queue: wakes a worker that checks the file.
        workspaces: have the secrets that links are signed with.
        clock: returns the current time.
        settings: the largest file.
    """

    def __init__(
        self,
        jobs: Imports,
        storage: ExportStorage,
        queue: JobQueue,
        workspaces: WorkspaceCache,
        *,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._jobs = jobs
        self._storage = storage
        self._queue = queue
        self._workspaces = workspaces
        self._clock = clock
        self._max_bytes = settings.exports.max_import_bytes

    async def require_valid_upload_link(
        self, import_id: UUID, expires: str, signature: str
    ) -> tuple[ImportJob, Workspace]:
        """Returns the job of an upload link, and its workspace.

        Raises:
            Forbidden: ``invalid_signature``, also for a job that does not exist.
            Conflict: ``wrong_import_status``, when the job has its file, or has ended.
        """
        job = await self._jobs.find_import(import_id)
        workspace = await self._workspaces.find_by_id(job.workspace_id) if job else None
        if (
            job is None
            or workspace is None
            or not _is_valid(workspace, job, expires, signature, self._clock())
        ):
            raise Forbidden("The link is not valid or has ended", "invalid_signature")
        if job.status is not ImportStatus.WAITING_FOR_FILE:
            raise wrong_status(job)
        return job, workspace

    async def store_file(self, job: ImportJob, chunks: AsyncIterable[bytes]) -> ImportJob:
        """Stores the file and hands the job to a worker; holds one piece of the file at a time.

        Raises:
            PayloadTooLarge: the file is larger than the settings allow.
            Unprocessable: ``invalid_field``, the file is empty.
            Conflict: ``wrong_import_status``, a later upload has begun, or the job has ended.
        """
        uploading = await self._begin_upload(job)
        async with self._storage.open_for_write(uploading.stored_name, uploading.stored_name) as file:
            size, digest = await self._write_and_digest(file, chunks)
            await self._require_latest_upload(uploading)
        uploaded = uploading.begin_check(self._clock(), size, digest)
        if not await self._jobs.replace_import_if_unchanged(uploading, uploaded):
            await delete_uploaded_file_or_log(self._storage, uploading)
            raise _upload_replaced()
        with suppress(JobQueueUnavailable):  # a worker looks for jobs unasked, too
            await self._queue.wake_worker(job.id)
        return uploaded

    async def _begin_upload(self, job: ImportJob) -> ImportJob:
        """Saves the name of the file before its first byte is stored; deletes the file that an upload left which broke off."""
        uploading = job.begin_upload(new_id())
        if not await self._jobs.replace_import_if_unchanged(job, uploading):
            raise _upload_replaced()
        if job.upload_id is not None:
            await delete_uploaded_file_or_log(self._storage, job)
        return uploading

    async def _require_latest_upload(self, uploading: ImportJob) -> None:
        current = await self._jobs.find_import(uploading.id)
        if current is None or (current.upload_id, current.status) != (uploading.upload_id, uploading.status):
            raise _upload_replaced()

    async def _write_and_digest(self, file: BinaryIO, chunks: AsyncIterable[bytes]) -> tuple[int, str]:
        size, digest = 0, hashlib.sha256()
        async for chunk in chunks:
            size += len(chunk)
            if size > self._max_bytes:
                raise PayloadTooLarge(
                    f"The file is larger than {self._max_bytes:,} bytes",
                    "payload_too_large",
                    hint="Split it, or use `touchpoint import` on the server.",
                )
            await asyncio.to_thread(_write_and_update, file, digest, chunk)
        if not size:
            raise Unprocessable("The file is empty", "invalid_field", field="file")
        return size, digest.hexdigest()


def wrong_status(job: ImportJob) -> Conflict:
    """Returns the error of a request that the state of the job does not allow."""
    return Conflict(f"The import is {job.status.value.replace('_', ' ')}", "wrong_import_status")


def _upload_replaced() -> Conflict:
    return Conflict("A later upload has begun, or the import has ended", "wrong_import_status")


def _write_and_update(file: BinaryIO, digest: "hashlib._Hash", chunk: bytes) -> None:
    file.write(chunk)
    digest.update(chunk)


def _is_valid(workspace: Workspace, job: ImportJob, expires: str, signature: str, now: datetime) -> bool:
    """Returns whether the signature matches and the link has not expired; compared in constant time."""
    if not _UNIX_TIME.fullmatch(expires):
        return False
    wanted = sign_upload(workspace.secret, job.id, int(expires))
    is_same = hmac.compare_digest(wanted.encode(), signature.encode("utf-8", "replace"))
    return is_same and now.timestamp() < int(expires)
