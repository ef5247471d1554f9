"""Pauses writes to the event store of a running service while a backup copies it: a Unix socket in the data folder.

Whoever may write to the folder may connect. A hold ends with its connection, however that ends, and
after `MAX_PAUSE_SECONDS` at the latest: a backup that hangs must not stop the service.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from hosts.backup.write_lock import WriteLock
from service_core.kernel.errors import StartupError

SOCKET_FILE: Final = ".control.sock"
MAX_PAUSE_SECONDS: Final = 1_800.0
WAIT_SECONDS: Final = 120.0
"""How long a backup waits for the write in hand: the longest sorts a month."""

_PAUSED: Final = b"held\n"
_ENDED: Final = b"ended\n"

_KEEP_SOCKET_FILE: Final[dict[str, Any]] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""Python 3.13 and later would remove the file by the address it was bound to, which is gone by then."""

_log = logging.getLogger("touchpoint.backup")


@contextmanager
def replace_pause_listener_or_none_without_sockets(folder: Path) -> Iterator[socket.socket | None]:
    """Gives the socket on which backups of a folder ask for a pause; None where no socket can be made."""
    try:
        listener = _replace_socket_file_owner_only(folder)
    except OSError as fault:  # some network and shared folders know no sockets
        _log.warning("no backup can be made while this runs: %s", fault.strerror)
        yield None
        return
    try:
        with listener:
            yield listener
    finally:
        (folder / SOCKET_FILE).unlink(missing_ok=True)


async def serve_backup_pauses_until_stopped(
    listener: socket.socket | None, write_lock: WriteLock, stop: asyncio.Event
) -> None:
    """Pauses writes for one backup after the other, until ``stop`` is set.

    Args:
        listener: from `replace_pause_listener_or_none_without_sockets`; None serves nothing.
        write_lock: of the store.
        stop: ends it.
    """

    async def pause_until_backup_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with write_lock.paused():
                writer.write(_PAUSED)
                await writer.drain()
                ended = await _backup_ended_pause_in_time(reader, stop)
            if ended:
                writer.write(_ENDED)
                await writer.drain()
            else:
                _log.error("a backup did not end in order; it is not to be used")
        except OSError:
            _log.warning("a backup went away")
        finally:
            writer.close()

    if listener is None:
        return
    async with await asyncio.start_unix_server(pause_until_backup_ends, sock=listener, **_KEEP_SOCKET_FILE):
        await stop.wait()


async def _backup_ended_pause_in_time(
    backup_reader: asyncio.StreamReader, service_stop: asyncio.Event
) -> bool:
    """Waits for the end of a pause; True when the backup ended it, False when it left, or time or service ended."""
    end_message, stopping = (
        asyncio.create_task(backup_reader.read(1)),
        asyncio.create_task(service_stop.wait()),
    )
    done, left = await asyncio.wait(
        {end_message, stopping}, timeout=MAX_PAUSE_SECONDS, return_when=asyncio.FIRST_COMPLETED
    )
    for task in left:
        task.cancel()
    return end_message in done and bool(end_message.result())


@contextmanager
def writes_of_running_service_paused(folder: Path) -> Iterator[None]:
    """Pauses writes to the event store of a running service inside the block.

    Raises:
        StartupError: nobody answers, or the service did not keep it still to the end.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(WAIT_SECONDS)
        try:
            with _short_socket_path_via_proc(folder) as address:
                connection.connect(address)
            is_paused = connection.recv(len(_PAUSED)) == _PAUSED
        except OSError:
            is_paused = False
        if not is_paused:
            raise StartupError(
                f"The process that serves {folder} does not answer. Run the backup on its machine and as its user, "
                "or stop the service first."
            )
        yield
        with suppress(OSError):
            connection.sendall(b"e")
            if connection.recv(len(_ENDED)) == _ENDED:
                return
        raise StartupError(
            "The service went on before the copy was made: the backup is thrown away. Try again."
        )


def _replace_socket_file_owner_only(folder: Path) -> socket.socket:
    (folder / SOCKET_FILE).unlink(
        missing_ok=True
    )  # of a process that was killed; the lock of the folder is ours
    listener = socket.socket(socket.AF_UNIX)
    previous_umask = os.umask(0o177)
    try:
        with _short_socket_path_via_proc(folder) as address:
            listener.bind(address)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(previous_umask)
    listener.listen()
    return listener


@contextmanager
def _short_socket_path_via_proc(folder: Path) -> Iterator[str]:
    """Gives a path of the socket that is short enough for the system, through the opened folder."""
    if not Path("/proc/self/fd").exists():
        yield str(folder / SOCKET_FILE)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET_FILE}"
    finally:
        os.close(descriptor)
