"""Uploaded import files of a workspace, searched for a person."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from service_core.delivery.exports.ports import ExportStorage
from service_core.delivery.imports.models import WORKER_STATES, ImportJob, ImportStatus
from service_core.delivery.imports.ports import ImportFileSearch, ImportRefused, Imports
from service_core.kernel.clock import Clock
from service_core.privacy.models import MIN_REPLACED_ID_LENGTH, PersonSubject

_MAX_IMPORTS: Final = 10_000
_MAX_ENTRIES: Final = 100_000
_SEPARATORS: Final = re.compile(r"""[\s,;|=&?"']+""")
"""Between the cells and words of a line that is no JSON."""

_END_LENGTH: Final = 8
"""Length of the end of a name by which it is found in a text; shorter names are searched one after the other."""


class ImportChanged(Exception):
    """An import was started, or changed by its worker, while its file was searched."""


class PersonalImportFiles:
    """Finds and deletes what import jobs keep about a person: the uploaded file, its preview and its name."""

    def __init__(
        self, *, imports: Imports, storage: ExportStorage, search: ImportFileSearch, clock: Clock
    ) -> None:
        self._imports = imports
        self._storage = storage
        self._file_search = search
        self._clock = clock

    async def latest_end_unless_running(self, workspace_id: UUID) -> datetime | None:
        """Returns when the latest import ended, the beginning of time without any; None while a worker has one to do."""
        jobs = await self._imports.list_imports(workspace_id, _MAX_IMPORTS)
        if any(job.status in WORKER_STATES for job in jobs):
            return None
        ends = [job.completed_at for job in jobs if job.completed_at is not None]
        return max(ends, default=datetime.min.replace(tzinfo=self._clock().tzinfo))

    async def list_entries_about(self, workspace_id: UUID, subject: PersonSubject) -> list[dict[str, Any]]:
        """Returns the lines and rows about a person in the files that wait to be imported."""
        found: list[dict[str, Any]] = []
        for job in await self._imports.list_imports(workspace_id, _MAX_IMPORTS):
            entries = await self._find_entries_in_file(job, subject, _MAX_ENTRIES - len(found))
            found += [
                {"import_id": str(job.id), "file_name": job.file_name, "entry": entry}
                for entry in entries or ()
            ]
        return found

    async def delete_files_about(self, workspace_id: UUID, subject: PersonSubject) -> Mapping[str, int]:
        """Deletes each file that has an id of a person, or cannot be searched, and cancels its import.

        Files that should be gone already are deleted, too, and names of files with an id are redacted. An upload that goes
        on is left alone.

        Raises:
            ImportChanged: a worker has an import to do, or it was started meanwhile; to be tried again.
        """
        files = names = 0
        for job in await self._imports.list_imports(workspace_id, _MAX_IMPORTS):
            if job.status in WORKER_STATES:
                raise ImportChanged
            if job.status is ImportStatus.READY:
                entries = await self._find_entries_in_file(job, subject, 1)
                is_deleted = entries is None or bool(entries)
                files += is_deleted
                kept = job.cancel(self._clock()) if is_deleted else job
            else:
                is_deleted, kept = job.is_final, job
            redacted = replace(
                kept, file_name=subject.redact(kept.file_name), error=subject.redact(kept.error)
            )
            names += redacted.file_name != job.file_name
            if redacted != job and not await self._imports.replace_import_if_unchanged(job, redacted):
                raise ImportChanged
            if is_deleted:
                await self._storage.delete(job.stored_name)
        return {"files": files, "file_names": names}

    async def _find_entries_in_file(
        self, job: ImportJob, subject: PersonSubject, limit: int
    ) -> list[Any] | None:
        """Returns the entries of the file of a job about a person; None if the file cannot be searched."""
        stored = await self._storage.read(job.stored_name) if job.digest is not None else None
        if stored is None:
            return []
        try:
            return await self._file_search.find_first_wanted_entries(
                job, stored[1], _is_about(subject), limit
            )
        except ImportRefused:
            return None


def _is_about(subject: PersonSubject) -> Callable[[Any], bool]:
    """Returns a test of JSON values; a text search comes first, since nearly all entries are about others."""
    names = subject.ids | subject.event_ids | subject.addresses
    words = {name for name in subject.ids if len(name) >= MIN_REPLACED_ID_LENGTH}
    has_name = _text_search(names | {json.dumps(name, ensure_ascii=False)[1:-1] for name in names})

    def is_about(value: Any) -> bool:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        return has_name(text) and (
            subject.is_mentioned_in(value)
            or subject.redact(value) != value
            or any(address in text for address in subject.addresses)
            or (isinstance(value, str) and not words.isdisjoint(_SEPARATORS.split(value)))
        )

    return is_about


def _text_search(names: Iterable[str]) -> Callable[[str], bool]:
    """Returns a test of whether a text has one of the names; a person may have a hundred thousand event ids."""
    short, by_end = [], dict[str, list[str]]()
    for name in names:
        if len(name) < _END_LENGTH:
            short.append(name)
        else:
            by_end.setdefault(name[-_END_LENGTH:], []).append(name)

    def has_name(text: str) -> bool:
        ends = (text[start : start + _END_LENGTH] for start in range(len(text) - _END_LENGTH + 1))
        return any(name in text for name in short) or any(
            name in text for end in ends for name in by_end.get(end, ())
        )

    return has_name
