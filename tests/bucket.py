"""A small store that speaks as much of S3's protocol as a client of export files asks of it."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

KEPT = ("Content-Type", "Content-Disposition", "Cache-Control")


class Bucket(BaseHTTPRequestHandler):
    """Just enough of the protocol: objects, and uploads in parts that show when they are complete."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _read(self):
        self.path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return parse_qs(query, keep_blank_values=True), body

    def do_PUT(self):
        query, body = self._read()
        store = self.server.store
        if store.refuses:
            return self._answer(403)
        if "uploadId" in query:
            store.parts[int(query["partNumber"][0])] = body
        else:
            store.objects[self.path] = (body, self._kept())
        return self._answer(200, headers={"ETag": '"1"'})

    def _kept(self):
        return {name: self.headers[name] for name in KEPT if self.headers[name]}

    def do_POST(self):
        query, sent = self._read()
        store = self.server.store
        if "delete" in query:
            names = re.findall(r"<Key>(.*?)</Key>", sent.decode())
            for name in names:
                store.objects.pop(f"/exports/{name}", None)
            gone = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            return self._answer(200, f"<DeleteResult>{gone}</DeleteResult>".encode())
        if "uploads" in query:
            store.parts, store.attributes = {}, self._kept()
            return self._answer(
                200, b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
            )
        body = b"".join(part for _, part in sorted(store.parts.items()))
        store.objects[self.path] = (body, store.attributes)
        return self._answer(
            200, b"<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>"
        )

    def do_GET(self):
        query, _ = self._read()
        self.server.store.asked.append(query)
        if self.server.store.says:
            status, code = self.server.store.says
            return self._answer(status, f"<Error><Code>{code}</Code></Error>".encode())
        if self.path not in self.server.store.objects:
            return self._answer(404)
        body, kept = self.server.store.objects[self.path]
        dated = {"Last-Modified": "Wed, 08 Jul 2026 15:00:00 GMT", "ETag": '"1"'}
        return self._answer(200, body, kept | dated)

    def do_HEAD(self):
        return self.do_GET()


class Store:
    def __init__(self):
        self.objects, self.parts, self.attributes, self.asked, self.refuses = {}, {}, {}, [], False
        self.says = None


@pytest.fixture
def bucket():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    server.daemon_threads, server.store = True, Store()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    server.store.url = f"http://127.0.0.1:{server.server_port}"
    yield server.store
    server.shutdown()
    server.server_close()
