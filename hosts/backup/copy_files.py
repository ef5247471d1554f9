"""Copies each kind of local data (`LocalDataKind`) while a service uses it."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from service_core.extensions.adapters import LocalDataKind

DRAFT_SUFFIX: Final = ".part"
_CHUNK_BYTES: Final = 64 * 1024 * 1024


def back_up_sqlite_as_single_file(source: Path, folder: Path) -> None:
    """Copies one state of a database by SQLite's own backup; writers continue."""
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as ours,
        closing(sqlite3.connect(folder / source.name)) as copy,
    ):
        ours.backup(copy)
        # A copy is opened by whoever restores it: it must not need the files beside it.
        copy.execute("PRAGMA journal_mode = DELETE")


def copy_file_with_side_files(source: Path, folder: Path) -> None:
    """Copies a file and the log files beside it; nobody may write to them meanwhile."""
    for file in sorted(source.parent.glob(f"{source.name}*")):
        if file.is_file():
            _copy_new_file_in_kernel_if_possible(file, folder / file.name)


def copy_folder_without_drafts(source: Path, folder: Path) -> None:
    """Copies the finished files of a folder; drafts, and files that are deleted meanwhile, are left out."""
    (folder / source.name).mkdir(mode=0o700)
    for file in sorted(source.iterdir()) if source.is_dir() else ():
        if file.is_file() and not file.name.endswith(DRAFT_SUFFIX):
            try:
                _copy_new_file_in_kernel_if_possible(file, folder / source.name / file.name)
            except FileNotFoundError:
                (folder / source.name / file.name).unlink(missing_ok=True)


COPY_FUNCTIONS: Final[Mapping[LocalDataKind, Callable[[Path, Path], None]]] = {
    LocalDataKind.SQLITE: back_up_sqlite_as_single_file,
    LocalDataKind.FILE: copy_file_with_side_files,
    LocalDataKind.FOLDER: copy_folder_without_drafts,
}
"""Kind -> how it is copied from its place into a folder."""


def _copy_new_file_in_kernel_if_possible(source: Path, target: Path) -> None:
    """Copies a file by the kernel; file systems that share blocks copy nothing."""
    with source.open("rb") as ours, target.open("xb") as copy:
        try:
            while os.copy_file_range(ours.fileno(), copy.fileno(), _CHUNK_BYTES):
                pass
        except OSError:  # not between these two file systems
            ours.seek(0)
            copy.truncate(0)
            copy.seek(0)
            shutil.copyfileobj(ours, copy, _CHUNK_BYTES)


def fsync_folder_recursively(folder: Path) -> None:
    """Writes every file and name below a folder to disk before it returns."""
    for path in (*folder.rglob("*"), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
