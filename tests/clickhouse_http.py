"""ClickHouse's HTTP interface over the engine in this process: as much of it as the official client speaks.

It is what a server is to the client: names and passwords, sessions with tables of their own, settings and
parameters of a request, bodies in chunks and compressed, error codes, and statements that are killed.
Only the number of a query is not: the engine gives its own, so a query is known by its comment.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from tempfile import NamedTemporaryFile
from threading import Event, Lock, Thread
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from tests.clickhouse import PATIENCE, SMALL, needed

USER, PASSWORD, DATABASE = "ada", "s3cret/of:her@own", "shop"
URL: Final = f"clickhouse://{USER}:s3cret%2Fof%3Aher%40own@127.0.0.1"

_STATUS: Final = {60: 404, 62: 400, 159: 408, 516: 403}
"""Statuses by the code of an error, as the server has them; 500 for all others."""

_TRANSPORT: Final = {
    "client_protocol_version",
    "database",
    "default_format",
    "query_id",
    "session_id",
    "wait_end_of_query",
}
"""What a request says to the interface and not to the engine."""

_BLOCK: Final = re.compile(rb"(INSERT INTO .*?) FORMAT Native\n", re.DOTALL)


class Refused(Exception):
    """An error with a code, as the server tells it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text if "Code: " in text else f"Code: {code}. DB::Exception: {text}")
        self.code = code


class Session:
    """A handle of the engine with its tables and settings; one request at a time."""

    def __init__(self, folder: str) -> None:
        import chdb  # noqa: PLC0415 - only where it is installed

        self._engine = chdb.connect(folder)
        self._settings: dict[str, str] = {}
        self._lock = Lock()

    def run(self, statement: bytes, told: Mapping[str, str]) -> bytes:
        """The body of an answer."""
        if not self._lock.acquire(blocking=False):
            raise Refused(373, "Session is locked by a concurrent client. (SESSION_IS_LOCKED)")
        try:
            return self._run(statement, told)
        except RuntimeError as fault:
            text = str(fault)
            raise Refused(int((re.findall(r"Code: (\d+)", text) or ["0"])[0]), text) from None
        finally:
            self._lock.release()

    def _run(self, statement: bytes, told: Mapping[str, str]) -> bytes:
        given = {k.removeprefix("param_"): v for k, v in told.items() if k.startswith("param_")}
        asked = {k: v for k, v in told.items() if not k.startswith("param_") and k not in _TRANSPORT}
        self._settle(
            {**{k: str(v) for k, v in SMALL.items()}, **asked, "log_comment": told.get("query_id", "")}
        )
        if "database" in told:
            self._engine.query(f"USE `{told['database']}`")
        form = told.get("default_format", "TabSeparated")
        if (block := _BLOCK.match(statement)) is None:
            text = statement.decode().replace("WHERE query_id =", "WHERE Settings['log_comment'] =")
            return bytes(self._engine.query(text, form, params=given).bytes() or b"")
        with NamedTemporaryFile(suffix=".native") as file:
            file.write(statement[block.end() :])
            file.flush()
            self._engine.query(f"{block[1].decode()} FROM INFILE '{file.name}' FORMAT Native")
        return b""

    def _settle(self, asked: dict[str, str]) -> None:
        """Let the handle have the settings of a request and no others."""
        changes = [f"{name} = DEFAULT" for name in self._settings.keys() - asked.keys()]
        quoted = {name: value.replace("\\", "\\\\").replace("'", "\\'") for name, value in asked.items()}
        changes += [f"{k} = '{quoted[k]}'" for k, v in asked.items() if self._settings.get(k) != v]
        if changes:
            self._engine.query(f"SET {', '.join(changes)}")
        self._settings = asked

    def close(self) -> None:
        """Forget the session."""
        self._engine.close()


class Facade(ThreadingHTTPServer):
    """The server: sessions by name, and the connections it has."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, folder: Path, port: int = 0) -> None:
        needed()
        super().__init__(("127.0.0.1", port), Exchange)
        self.folder = str(folder)
        self.sessions: dict[str, Session] = {}
        self.requests: list[str] = []
        self.going = Event()
        """Cleared, it hangs: it takes connections and answers nothing."""
        self.going.set()
        self._sockets: list[socket] = []
        self._lock = Lock()
        self.session("").run(f"CREATE DATABASE IF NOT EXISTS {DATABASE}".encode(), {})

    @property
    def url(self) -> str:
        """What a configuration says."""
        return f"{URL}:{self.server_port}/{DATABASE}?timeout_seconds={PATIENCE}"

    def session(self, name: str) -> Session:
        """The session of a name."""
        with self._lock:
            if name not in self.sessions:
                self.sessions[name] = Session(self.folder)
            return self.sessions[name]

    def get_request(self) -> tuple[socket, Any]:
        """A connection; it is cut when the server goes away."""
        accepted = super().get_request()
        self._sockets.append(accepted[0])
        return accepted

    def server_close(self) -> None:
        """Go away at once, as a machine does that loses its power."""
        super().server_close()
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(SHUT_RDWR)
        for session in self.sessions.values():
            session.close()


class Exchange(BaseHTTPRequestHandler):
    """A request and its answer."""

    server: Facade
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Run a statement."""
        body = self._body()
        told = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("multipart/form-data"):
            told |= _fields(kind, body)
            body = b""
        statement = told.pop("query", "").encode() or body
        self.server.requests.append(self.path)
        self.server.going.wait()
        try:
            self._admit()
            answer = self.server.session(told.get("session_id", "")).run(statement, told)
            shown = {"X-ClickHouse-Format": "TabSeparated"} if answer else {}
            self._send(200, answer, {**shown, "X-ClickHouse-Timezone": "UTC"})
        except Refused as refused:
            status = _STATUS.get(refused.code, 500)
            self._send(status, str(refused).encode(), {"X-ClickHouse-Exception-Code": str(refused.code)})

    def do_GET(self) -> None:
        """Say that the server is there."""
        self.server.going.wait()
        self._send(200, b"Ok.\n", {})

    def _admit(self) -> None:
        expected = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {expected}":
            raise Refused(516, "Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(iter(self._chunk, b""))
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("Content-Encoding") == "lz4":
            import lz4.frame  # noqa: PLC0415 - the client brings it

            body = lz4.frame.decompress(body)
        return body

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline(), 16)
        chunk = self.rfile.read(size)
        self.rfile.readline()
        return chunk

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _fields(kind: str, body: bytes) -> dict[str, str]:
    """The fields of a form."""
    form = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    parts = form.get_payload()
    return {
        str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True).decode()
        for part in parts
    }


@contextmanager
def served(folder: Path, port: int = 0) -> Iterator[Facade]:
    """A server while the block runs."""
    facade = Facade(folder, port)
    thread = Thread(target=facade.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield facade
    finally:
        facade.shutdown()
        facade.server_close()
        thread.join()
