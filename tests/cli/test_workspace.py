"""``touchpoint workspace``: show and set the rules a workspace follows."""

import json

import pytest

HOUSE = {"conversions": None, "any_revenue": True, "channels": [], "model": None, "window_days": None}


@pytest.fixture
def workspace(touchpoint, deployment):
    def run(*arguments):
        shown = json.loads(touchpoint("workspace", *arguments, "--config", deployment["config"]).stdout)
        assert shown.pop("workspace") == deployment["workspace_id"]
        return shown

    return run


def test_a_new_workspace_follows_the_rules_of_the_house(workspace):
    assert workspace("show") == HOUSE


def test_what_is_set_stays_until_it_is_set_again(workspace):
    first = workspace("set", "--conversion", "webinar", "--conversion", "purchase", "--no-any-revenue")
    assert first == HOUSE | {"conversions": ["purchase", "webinar"], "any_revenue": False}
    rule = 'custom:crm source=news* "campaign=spring sale"'
    second = workspace("set", "--channel", rule, "--model", "linear", "--window-days", "7")
    channels = [{"id": "custom:crm", "source": "news*", "campaign": "spring sale"}]
    assert second == first | {"channels": channels, "model": "linear", "window_days": 7}
    assert workspace("show") == second


def test_the_usual_rules_come_back_with_one_word(workspace):
    workspace("set", "--conversion", "webinar", "--model", "linear")
    assert workspace("set", "--usual", "--window-days", "90") == HOUSE | {"window_days": 90}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--channel", "crm source=news"), "custom:"),
        (("--channel", "custom:crm"), "names no source"),
        (("--channel", "custom:crm origin=news"), "does not read like"),
        (("--channel", "custom:crm source=*a*b*c*"), "stars"),
        (("--model", "guess"), "Unknown attribution model"),
        (("--model", "markov"), "cannot be the default"),
        (("--window-days", "0"), "1 to 365"),
        (("--conversion", ""), "none of them empty"),
    ],
)
def test_a_rule_nobody_can_follow_is_refused_and_nothing_changes(
    touchpoint, deployment, workspace, arguments, said
):
    code = 2 if said == "does not read like" else 1
    result = touchpoint("workspace", "set", *arguments, "--config", deployment["config"], code=code)
    assert said in result.stderr
    assert workspace("show") == HOUSE
