"""Asks the questions, compares the answers with the truth, and prints the table."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from tests.assistant.ads_and_credits import renamed_user
from tests.assistant.question import Unknown

CHARACTERS_PER_TOKEN = 4
"""A token is estimated as four characters of JSON."""


class Outcome(StrEnum):
    """How an answer compares with the truth."""

    RIGHT = "right"
    SAID_UNKNOWN = "said unknown"
    WRONG = "silently wrong"


@dataclass(frozen=True)
class Score:
    """What became of a question."""

    area: str
    question: Any
    outcome: Outcome
    expected: Any
    answer: Any
    tokens: int


def tokens(text):
    """The estimated number of tokens of a text."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def with_ids(question, truth, service):
    """The question with the ids of the records and the user it means."""
    names = {**service.saved_ids, "RENAMED": renamed_user(truth)}
    arguments = {
        key: names.get(value, value) if isinstance(value, str) else value
        for key, value in question.arguments.items()
    }
    return replace(question, arguments=arguments)


def judge(question, truth, status, answer):
    """The outcome, the right answer, and what was answered."""
    expected = question.expected(truth)
    if isinstance(expected, Unknown):
        said = expected.is_said_by(answer)
        return (
            (Outcome.RIGHT if said else Outcome.WRONG),
            expected,
            answer if status >= 400 else _picked(question, answer),
        )
    if status >= 400:
        return Outcome.SAID_UNKNOWN, expected, answer
    picked = _picked(question, answer)
    if _equal(picked, expected):
        return Outcome.RIGHT, expected, picked
    return (Outcome.SAID_UNKNOWN if _is_doubtful(answer) else Outcome.WRONG), expected, picked


def _picked(question, answer):
    try:
        return question.pick(answer)
    except (KeyError, IndexError, TypeError) as fault:
        return f"{type(fault).__name__}: {fault}"


def _equal(picked, expected):
    if isinstance(expected, dict):
        return (
            isinstance(picked, dict)
            and picked.keys() == expected.keys()
            and all(_equal(picked[key], expected[key]) for key in expected)
        )
    if isinstance(expected, list):
        return (
            isinstance(picked, list) and len(picked) == len(expected) and all(map(_equal, picked, expected))
        )
    if isinstance(expected, float) and isinstance(picked, int | float):
        return abs(picked - expected) < 5e-7
    return picked == expected


def _is_doubtful(answer):
    meta = answer.get("meta", {})
    unavailable = answer.get("unavailable") or meta.get("unavailable")
    return bool(unavailable) or answer.get("complete", meta.get("complete")) is False


async def ask_by_tool(service, area, question, truth):
    """Asks through the compact tools of the MCP server."""
    question = with_ids(question, truth, service)
    name, arguments = question.tool_call()
    body, answer = await service.rpc("tools/call", {"name": name, "arguments": arguments})
    text = answer["result"]["content"][0]["text"]
    status = 400 if answer["result"]["isError"] else 200
    sent = json.dumps({"name": name, "arguments": arguments})
    return Score(
        area,
        question,
        *judge(question, truth, status, json.loads(text)),
        tokens(sent) + tokens(body.decode()),
    )


async def ask_by_http(service, area, question, truth):
    """Asks the route of the same operation."""
    question = with_ids(question, truth, service)
    method, path, query, body = question.http_request()
    status, answer = await service.request(method, path, query, body)
    return Score(area, question, *judge(question, truth, status, answer), tokens(json.dumps(answer)))


def table(scores, lists):
    """The table of a run: by area how many are right, and what they cost; then what is not right."""
    lines = [f"{'area':<20} {'asked':>5} {'right':>5} {'unknown':>7} {'wrong':>5} {'tokens each':>11}"]
    areas = dict.fromkeys(score.area for score in scores)
    lines += [_line(area, [score for score in scores if score.area == area]) for area in areas]
    lines.append(_line("all", scores))
    lines += [f"tokens of the list of tools, {name}: {count}" for name, count in lists.items()]
    lines.append("A token is estimated as four characters of JSON: of a call and its result, or of a list.")
    lines += [
        f"{score.outcome}: {score.question.text} expected {_short(score.expected)}, got {_short(score.answer)}"
        for score in scores
        if score.outcome is not Outcome.RIGHT
    ]
    return "\n".join(lines)


def _line(name, scores):
    count = Counter(score.outcome for score in scores)
    each = sum(score.tokens for score in scores) // len(scores)
    return f"{name:<20} {len(scores):>5} {count[Outcome.RIGHT]:>5} {count[Outcome.SAID_UNKNOWN]:>7} {count[Outcome.WRONG]:>5} {each:>11}"


def _short(value):
    text = json.dumps(value, default=str, sort_keys=True)
    return text if len(text) <= 300 else f"{text[:300]}..."
