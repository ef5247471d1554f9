"""The baseline of the ingest host: the same server with an application that parses and answers at once.

Usage: ``python ingest_baseline.py hypercorn|uvicorn|granian``; prints ``ready HOST:PORT``, stops on SIGTERM.
"""

import asyncio
import sys

import orjson

from hosts.asgi_runner import (
    bind_listener,
    run_on_uvloop,
    serve_until_shutdown,
    set_event_on_termination_signals,
)

HEADERS = [
    (b"content-type", b"application/json"),
    (b"cache-control", b"no-store"),
    (b"access-control-allow-origin", b"*"),
]
"""The headers of every response of the ingest host, so that both send the same bytes."""


async def answer_at_once(scope, receive, send) -> None:
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": f"{message['type']}.complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    message = await receive()
    body = message["body"]
    while message.get("more_body"):
        message = await receive()
        body += message["body"]
    event = orjson.loads(body)
    answer = orjson.dumps({"success": True, "event": event["event"], "workspace": "k3Jx9QmZ2aPr"})
    headers = [*HEADERS, (b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


async def main(server: str) -> None:
    shutdown = asyncio.Event()
    set_event_on_termination_signals(shutdown)
    listener = bind_listener("127.0.0.1:0")
    sys.stdout.write(f"ready 127.0.0.1:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    await serve_until_shutdown(answer_at_once, listener, server, shutdown)


if __name__ == "__main__":
    run_on_uvloop(main(sys.argv[1]))
