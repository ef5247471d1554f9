"""The runner for models: a process on the loopback, and turns of both kinds of addresses."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.assistant.__main__ import parse, score_model
from tests.assistant.models import HttpModel, ModelFailed, ask_model, judge_word, last_word, prompt, shape
from tests.assistant.question import Question, Unknown
from tests.assistant.questions import TRAFFIC, UNKNOWN
from tests.assistant.score import Outcome, table

TEXT = "Visitors?"
QUESTION = Question(TEXT, "analytics_query", ("2026-06-01", "2026-06-30"), {}, lambda _: 3, lambda _: 3)


@pytest.mark.asyncio(loop_scope="package")
async def test_command_asks_the_server_and_its_last_line_is_judged(shop, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    service, truth = shop
    arguments = parse(["ask", "--command", f"{sys.executable} {Path(__file__).with_name('stand_in.py')}"])
    chosen = [("traffic", question) for question in TRAFFIC[:3]] + [("unknown", UNKNOWN[0])]
    scores = await score_model(service, truth, chosen, arguments)
    assert [score.outcome for score in scores] == [
        Outcome.RIGHT,
        Outcome.WRONG,
        Outcome.SAID_UNKNOWN,
        Outcome.RIGHT,
    ]
    assert all(score.tokens for score in scores)
    assert "silently wrong: How many of them were new" in table(scores, {"compact": 1})


TURNS = {
    "https://model.example/v1/chat/completions": [
        {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "function": {"name": "query", "arguments": '{"metrics": []}'}}]}}]},
        {"choices": [{"message": {"role": "assistant", "content": 'Three.\n{"answer": 3}'}}]},
    ],
    "https://model.example/v1/messages": [
        {"content": [{"type": "tool_use", "id": "c1", "name": "query", "input": {"metrics": []}}]},
        {"content": [{"type": "text", "text": '{"answer": 3}'}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("address", TURNS)
async def test_model_at_an_address_calls_tools_until_it_answers(address, monkeypatch):
    sent, turns, called = [], iter(TURNS[address]), []

    async def call_tool(name, arguments):
        called.append((name, arguments))
        return '{"totals": 3}'

    entry = {"name": "query", "description": "Metrics.", "inputSchema": {"type": "object"}}
    model = HttpModel(address, "m", [entry], call_tool, "k")
    monkeypatch.setattr(model, "_post", lambda body: sent.append(json.loads(json.dumps(body))) or next(turns))
    score = await ask_model(model, "traffic", QUESTION, SimpleNamespace())
    assert (score.outcome, called) == (Outcome.RIGHT, [("query", {"metrics": []})])
    assert '{\\"totals\\": 3}' in json.dumps(sent[1]["messages"][-1])
    assert len(sent[0]["tools"]) == 1


async def test_model_without_an_answer_says_nothing_wrong():
    class Silent:
        async def answer(self, _):
            raise ModelFailed("nothing")

    assert (await ask_model(Silent(), "traffic", QUESTION, SimpleNamespace())).outcome is Outcome.SAID_UNKNOWN


def test_words_of_models_are_compared_with_the_truth():
    assert last_word('x\n{"answer": {"a": 1}}\n')["answer"] == {"a": 1}
    with pytest.raises(ModelFailed):
        last_word("three")
    for answer, expected, outcome in (
        (3.0000001, 3, Outcome.RIGHT), (3.2, 3, Outcome.WRONG), ({"a": 1}, {"a": 1, "b": 2}, Outcome.WRONG), (["x"], ["x"], Outcome.RIGHT),
        (None, 3, Outcome.SAID_UNKNOWN), (None, Unknown("no_cost_data"), Outcome.RIGHT), (0, Unknown("no_cost_data"), Outcome.WRONG),
    ):  # fmt: skip
        assert judge_word({"answer": answer}, expected) is outcome, answer


def test_prompt_names_days_and_shape_of_the_answer():
    assert shape({"a": 1}) == "an object: label -> a number"
    assert "2026-06-01 to 2026-06-30" in prompt(QUESTION, 3)
    assert prompt(QUESTION, ["x"]).endswith("The answer is an array of a text.")


def test_ask_needs_a_command_or_an_address():
    with pytest.raises(SystemExit):
        parse(["ask"])
