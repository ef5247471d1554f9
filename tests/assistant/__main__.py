"""`python -m tests.assistant`: asks the questions, by the scripted client or a model, and prints the table."""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

from hosts.asgi_runner import bind_listener, serve_until_shutdown
from tests.assistant.models import CommandModel, HttpModel, ask_model
from tests.assistant.oracle import Truth
from tests.assistant.questions import AREAS
from tests.assistant.score import Outcome, ask_by_http, ask_by_tool, table, tokens, with_ids
from tests.assistant.shop import generate_shop
from tests.assistant.store import serve_shop

COMPACT = "/mcp?tools=compact"


@asynccontextmanager
async def listening(service):
    """The address of the MCP server on the loopback, while it is open."""
    listener, shutdown = bind_listener("127.0.0.1:0"), asyncio.Event()
    port = listener.getsockname()[1]
    server = asyncio.create_task(serve_until_shutdown(service.program.app, listener, "hypercorn", shutdown))
    try:
        yield f"http://127.0.0.1:{port}{COMPACT}"
    finally:
        shutdown.set()
        await server


async def ask_questions(service, truth, chosen, asker):
    """Scores of the questions, with a dot for each that is asked."""
    scores = []
    for area, question in chosen:
        scores.append(await asker(service, area, question, truth))
        sys.stderr.write("." if scores[-1].outcome is Outcome.RIGHT else "x")
        sys.stderr.flush()
    return scores


async def score_model(service, truth, chosen, arguments):
    """Scores of a model behind a command or an address."""

    async def ask(model):
        async def asker(_, area, question, known):
            service.renew_budget()
            return await ask_model(model, area, with_ids(question, known, service), known)

        return await ask_questions(service, truth, chosen, asker)

    if arguments.command:
        async with listening(service) as url:
            return await ask(CommandModel(arguments.command, url, service.program.token))

    async def call_tool(name, call_arguments):
        _, answer = await service.rpc("tools/call", {"name": name, "arguments": call_arguments}, COMPACT)
        return answer["result"]["content"][0]["text"] if "result" in answer else json.dumps(answer["error"])

    _, listed = await service.rpc("tools/list", {}, COMPACT)
    return await ask(HttpModel(arguments.url, arguments.model, listed["result"]["tools"], call_tool))


async def list_tokens(service):
    """Tokens of the lists of tools with all their pages, by name of the list."""
    addresses = {"compact": COMPACT, "read": "/mcp?tools=read", "all": "/mcp"}
    return {
        name: sum([tokens(page) async for page in tool_pages(service, at)]) for name, at in addresses.items()
    }


async def tool_pages(service, address):
    """The texts of the pages of a list of tools."""
    parameters = {}
    while True:
        body, answer = await service.rpc("tools/list", parameters, address)
        yield body.decode()
        if not (cursor := answer["result"].get("nextCursor")):
            return
        parameters = {"cursor": cursor}


async def run(arguments):
    """Asks and prints; returns 1 if an answer is silently wrong."""
    chosen = [
        (area, question) for area, questions in AREAS.items() for question in questions
        if not arguments.area or area in arguments.area
    ][: arguments.limit]  # fmt: skip
    started = time.perf_counter(), time.process_time()
    shop = generate_shop(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        async with serve_shop(Path(folder), shop) as service:
            truth = Truth(shop)
            elapsed, cpu = time.perf_counter() - started[0], time.process_time() - started[1]
            sys.stdout.write(
                f"Set-up of {len(shop.rows)} events: {elapsed:.1f} s, {cpu:.1f} s of processor\n"
            )
            if arguments.action == "ask":
                scores = await score_model(service, truth, chosen, arguments)
            else:
                scores = await ask_questions(
                    service, truth, chosen, ask_by_http if arguments.http else ask_by_tool
                )
            sys.stdout.write("\n" + table(scores, await list_tokens(service)) + "\n")
    return int(any(score.outcome is Outcome.WRONG for score in scores))


def parse(words):
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.assistant", description=__doc__)
    parser.add_argument("action", choices=["table", "ask"], help="table: the scripted client; ask: a model")
    parser.add_argument("--http", action="store_true", help="table: by HTTP instead of MCP")
    parser.add_argument(
        "--command",
        help="ask: reads JSON with question, instructions, mcp_url and token; its last line is the answer",
    )
    parser.add_argument(
        "--url",
        help="ask: an address that ends with /chat/completions or /messages; its key is in TOUCHPOINT_MODEL_KEY",
    )
    parser.add_argument("--model", default="", help="ask: name of the model at the address")
    parser.add_argument("--area", action="append", help="only questions of this area")
    parser.add_argument("--limit", type=int, help="only so many questions")
    parser.add_argument("--seed", type=int, default=17, help="another shop")
    arguments = parser.parse_args(words)
    if arguments.action == "ask" and bool(arguments.command) == bool(arguments.url):
        parser.error("ask needs --command or --url")
    return arguments


if __name__ == "__main__":
    sys.exit(asyncio.run(run(parse(sys.argv[1:]))))
