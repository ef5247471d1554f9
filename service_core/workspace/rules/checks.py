"""What a conversion rule must be like."""

import re
from decimal import Decimal
from typing import Final

from service_core.insight.filtering import operand
from service_core.kernel.errors import Unprocessable
from service_core.kernel.money import exponent
from service_core.workspace.refusals import check_text, unprocessable
from service_core.workspace.rules.model import Rule
from service_core.workspace.rules.platforms import CUSTOM
from service_core.workspace.rules.targets import Targets

LONGEST_NAME: Final = 120
LONGEST_TEXT: Final = 255
MOST_CONDITIONS: Final = 10
HIGHEST_VALUE: Final = 10**12
_CURRENCY: Final = re.compile("[A-Z]{3}")


def check(rule: Rule, targets: Targets) -> Rule:
    """The rule, when both it and its target are as they must be.

    Raises:
        BadRequest: ``invalid_parameter``.
        Unprocessable: ``invalid_platform_event``, ``invalid_field``, ``invalid_filter``.
    """
    targets.check_event(targets.platform(rule.platform), rule.ad_account_id, rule.platform_event)
    return check_sent(rule, targets)


def check_sent(rule: Rule, targets: Targets) -> Rule:
    """The rule, when all but its target is as it must be.

    Raises:
        BadRequest: ``invalid_parameter``.
        Unprocessable: ``invalid_field``, ``invalid_filter``.
    """
    check_text("rule.name", rule.name, LONGEST_NAME)
    check_text("rule.trigger_event", rule.trigger_event, LONGEST_TEXT)
    targets.check_source(rule.trigger_event_source)
    if rule.platform_event == CUSTOM or rule.custom_event_name is not None:
        check_text("rule.custom_event_name", rule.custom_event_name, LONGEST_TEXT)
    if rule.test_event_code is not None:
        check_text("rule.test_event_code", rule.test_event_code, LONGEST_TEXT)
    _check_money(rule)
    _check_conditions(rule)
    return rule


def _check_money(rule: Rule) -> None:
    for name in ("value_path", "currency_path"):
        path = getattr(rule, name)
        if path is not None:
            _check_path(name, path)
    if rule.currency is not None and not _CURRENCY.fullmatch(rule.currency):
        raise _wrong("currency", "must be an ISO 4217 code")
    if rule.value_type != "static" and rule.static_value is None:
        return
    if rule.static_value is None:
        raise _wrong("static_value", "is required for a static value")
    if rule.currency is None:
        raise _wrong("currency", "is required for a static value")
    if not 0 <= rule.static_value < HIGHEST_VALUE or _decimals(rule.static_value) > exponent(rule.currency):
        raise _wrong("static_value", f"must be an amount in {rule.currency}")


def _decimals(value: float) -> int:
    return max(0, -int(Decimal(str(value)).normalize().as_tuple().exponent))


def _check_conditions(rule: Rule) -> None:
    if len(rule.conditions) > MOST_CONDITIONS:
        raise _wrong("conditions", f"has at most {MOST_CONDITIONS} entries")
    for index, condition in enumerate(rule.conditions):
        place = f"conditions[{index}]"
        _check_path(f"{place}.property", condition.property)
        with unprocessable(f"rule.{place}", "invalid_filter"):
            operand(condition.op, condition.value, "invalid_filter", "value")


def _check_path(field: str, path: str) -> None:
    check_text(f"rule.{field}", path, LONGEST_TEXT)
    if not all(part.strip() for part in path.split(".")):
        raise _wrong(field, "must be a dot path")


def _wrong(field: str, rule: str) -> Unprocessable:
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"rule.{field}")
