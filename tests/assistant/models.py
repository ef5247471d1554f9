"""Asks a model instead of the scripted client: a command, or an address that speaks as OpenAI's or Anthropic's does.

A model gets the question, the tools of the MCP server, and the shape of the answer; its last word is JSON: `{"answer": ...}`.
"""

import asyncio
import json
import os
from dataclasses import dataclass, field
from urllib.request import Request, urlopen

from tests.assistant.question import Unknown
from tests.assistant.score import CHARACTERS_PER_TOKEN, Outcome, Score

MAX_TURNS = 12
"""Calls of tools that a model may make for a question."""

INSTRUCTIONS = """\
You answer the question of a shop owner with the tools. The shop's clock reads 2026-07-08 17:40 in Asia/Kolkata, its money is EUR. \
End with one line of JSON: {"answer": ...}. If the tools say that nobody can know, answer {"answer": null, "unknown": "<reason>"}. \
Ratios are fractions with six digits, not percent. Leave out groups whose value is 0."""


class ModelFailed(Exception):
    """The model could not be asked, or its last word is no JSON."""


def shape(expected):
    """How the answer is written, for a right answer."""
    if isinstance(expected, dict):
        return "an object: label -> " + shape(next(iter(expected.values()), 0))
    if isinstance(expected, list):
        return "an array of " + (shape(expected[0]) if expected else "values")
    return "a text" if isinstance(expected, str) else "a number"


def prompt(question, expected):
    """The question with the shape of its answer."""
    days = f" Days: {question.days[0]} to {question.days[1]}, both inclusive." if question.days else ""
    return f"{question.text}{days}\nThe answer is {'a number' if isinstance(expected, Unknown) else shape(expected)}."


def last_word(text):
    """The JSON object of the last line that is one."""
    for line in reversed(text.strip().splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and "answer" in found:
            return found
    raise ModelFailed(f"no line is a JSON object with an answer: {text[-200:]!r}")


def judge_word(word, expected):
    """The outcome of a model's last word; numbers count as equal within half of the last digit asked."""
    if isinstance(expected, Unknown):
        return Outcome.RIGHT if word["answer"] is None else Outcome.WRONG
    if word["answer"] is None:
        return Outcome.SAID_UNKNOWN
    return Outcome.RIGHT if _alike(word["answer"], expected) else Outcome.WRONG


def _alike(answer, expected):
    if isinstance(expected, dict):
        return (
            isinstance(answer, dict)
            and answer.keys() == expected.keys()
            and all(_alike(answer[key], expected[key]) for key in expected)
        )
    if isinstance(expected, list):
        return (
            isinstance(answer, list) and len(answer) == len(expected) and all(map(_alike, answer, expected))
        )
    if isinstance(expected, int | float) and isinstance(answer, int | float):
        return abs(answer - expected) <= 5e-5 * max(1, abs(expected) / 100)
    return answer == expected


@dataclass
class CommandModel:
    """A command that reads a question as JSON and writes its answer; it calls the MCP server itself."""

    command: str
    mcp_url: str
    token: str

    async def answer(self, text):
        """The last word of the command, and its size in characters."""
        sent = {"question": text, "instructions": INSTRUCTIONS, "mcp_url": self.mcp_url, "token": self.token}
        process = await asyncio.create_subprocess_shell(
            self.command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate(json.dumps(sent).encode())
        if process.returncode:
            raise ModelFailed(f"the command ended with {process.returncode}")
        return last_word(out.decode()), len(text) + len(out)


@dataclass
class HttpModel:
    """A model behind an address; `call_tool` calls the MCP server for it. The key is in TOUCHPOINT_MODEL_KEY.

    Attributes:
        address: of `/chat/completions` (OpenAI) or `/messages` (Anthropic).
        model: its name there.
        tools: entries of `tools/list`.
        call_tool: calls a tool with a name and arguments; returns the text of the result.
    """

    address: str
    model: str
    tools: list
    call_tool: object
    key: str = field(default_factory=lambda: os.environ.get("TOUCHPOINT_MODEL_KEY", ""), repr=False)

    @property
    def is_anthropic(self):
        return self.address.rstrip("/").endswith("/messages")

    async def answer(self, text):
        """The last word of the model, and the characters that were sent and received."""
        messages, size = [{"role": "user", "content": text}], 0
        for _ in range(MAX_TURNS):
            body = self._body(messages)
            answered = await asyncio.to_thread(self._post, body)
            size += len(json.dumps(body)) + len(json.dumps(answered))
            said, calls, turn = self._read(answered)
            if not calls:
                return last_word(said), size
            results = [(id_, await self.call_tool(name, arguments)) for id_, name, arguments in calls]
            messages += [turn, *self._results(results)]
        raise ModelFailed(f"no answer after {MAX_TURNS} turns")

    def _body(self, messages):
        if self.is_anthropic:
            tools = [
                {"name": t["name"], "description": t["description"], "input_schema": t["inputSchema"]}
                for t in self.tools
            ]
            return {
                "model": self.model,
                "max_tokens": 4096,
                "system": INSTRUCTIONS,
                "messages": messages,
                "tools": tools,
            }
        tools = [
            {
                "type": "function",
                "function": {
                    "name": t["name"],
                    "description": t["description"],
                    "parameters": t["inputSchema"],
                },
            }
            for t in self.tools
        ]
        return {
            "model": self.model,
            "messages": [{"role": "system", "content": INSTRUCTIONS}, *messages],
            "tools": tools,
        }

    def _post(self, body):
        headers = {"content-type": "application/json"}
        headers |= (
            {"x-api-key": self.key, "anthropic-version": "2023-06-01"}
            if self.is_anthropic
            else {"authorization": f"Bearer {self.key}"}
        )
        with urlopen(Request(self.address, json.dumps(body).encode(), headers), timeout=300) as answer:
            return json.load(answer)

    def _read(self, answered):
        """Text, calls as (id, name, arguments), and the message of the model, which the next request repeats."""
        if self.is_anthropic:
            content = answered["content"]
            text = "\n".join(part["text"] for part in content if part["type"] == "text")
            calls = [
                (part["id"], part["name"], part["input"]) for part in content if part["type"] == "tool_use"
            ]
            return text, calls, {"role": "assistant", "content": content}
        message = answered["choices"][0]["message"]
        calls = [
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls") or ()
        ]
        return message.get("content") or "", calls, message

    def _results(self, results):
        if self.is_anthropic:
            return [
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in results
                    ],
                }
            ]
        return [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results]


async def ask_model(model, area, question, truth):
    """Asks a model; what it cannot say counts as unknown."""
    expected = question.expected(truth)
    try:
        word, size = await model.answer(prompt(question, expected))
    except (ModelFailed, OSError) as fault:
        return Score(area, question, Outcome.SAID_UNKNOWN, expected, str(fault), 0)
    return Score(area, question, judge_word(word, expected), expected, word, size // CHARACTERS_PER_TOKEN)
