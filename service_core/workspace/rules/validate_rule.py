"""Validation of conversion rules."""

import re
from decimal import Decimal
from typing import Final

from service_core.analytics.query.parse_filters import parse_operand_for_operator
from service_core.kernel.errors import Unprocessable
from service_core.kernel.money import currency_decimals
from service_core.workspace.rules.models import ConversionRule
from service_core.workspace.rules.postback_platforms import CUSTOM_EVENT
from service_core.workspace.rules.rule_targets import RuleTargets
from service_core.workspace.validation import bad_request_as_unprocessable, validate_text

MAX_NAME_LENGTH: Final = 120
MAX_TEXT_LENGTH: Final = 255
MAX_CONDITIONS: Final = 10
MAX_STATIC_VALUE: Final = 10**12
_CURRENCY: Final = re.compile("[A-Z]{3}")


def validate_rule(rule: ConversionRule, targets: RuleTargets) -> ConversionRule:
    """Returns the rule if it and its target are valid.

    Raises:
        BadRequest: ``invalid_parameter``.
        Unprocessable: ``invalid_platform_event``, ``invalid_field``, ``invalid_filter``.
    """
    targets.require_accepted_event(
        targets.require_platform(rule.platform), rule.ad_account_id, rule.platform_event
    )
    return validate_all_but_target(rule, targets)


def validate_all_but_target(rule: ConversionRule, targets: RuleTargets) -> ConversionRule:
    """Returns the rule if everything but its target is valid.

    Raises:
        BadRequest: ``invalid_parameter``.
        Unprocessable: ``invalid_field``, ``invalid_filter``.
    """
    validate_text("rule.name", rule.name, MAX_NAME_LENGTH)
    validate_text("rule.trigger_event", rule.trigger_event, MAX_TEXT_LENGTH)
    targets.require_known_event_source(rule.trigger_event_source)
    if rule.platform_event == CUSTOM_EVENT or rule.custom_event_name is not None:
        validate_text("rule.custom_event_name", rule.custom_event_name, MAX_TEXT_LENGTH)
    if rule.test_event_code is not None:
        validate_text("rule.test_event_code", rule.test_event_code, MAX_TEXT_LENGTH)
    _validate_value_paths_and_static_value_with_currency(rule)
    _validate_conditions(rule)
    return rule


def _validate_value_paths_and_static_value_with_currency(rule: ConversionRule) -> None:
    for name in ("value_path", "currency_path"):
        path = getattr(rule, name)
        if path is not None:
            _validate_dot_path(name, path)
    if rule.currency is not None and not _CURRENCY.fullmatch(rule.currency):
        raise _invalid_field("currency", "must be an ISO 4217 code")
    if rule.value_type != "static" and rule.static_value is None:
        return
    if rule.static_value is None:
        raise _invalid_field("static_value", "is required for a static value")
    if rule.currency is None:
        raise _invalid_field("currency", "is required for a static value")
    if not 0 <= rule.static_value < MAX_STATIC_VALUE or _count_decimals(
        rule.static_value
    ) > currency_decimals(rule.currency):
        raise _invalid_field("static_value", f"must be an amount in {rule.currency}")


def _count_decimals(value: float) -> int:
    return max(0, -int(Decimal(str(value)).normalize().as_tuple().exponent))


def _validate_conditions(rule: ConversionRule) -> None:
    if len(rule.conditions) > MAX_CONDITIONS:
        raise _invalid_field("conditions", f"has at most {MAX_CONDITIONS} entries")
    for index, condition in enumerate(rule.conditions):
        field = f"conditions[{index}]"
        _validate_dot_path(f"{field}.property", condition.property)
        with bad_request_as_unprocessable(f"rule.{field}", "invalid_filter"):
            parse_operand_for_operator(condition.op, condition.value, "invalid_filter", "value")


def _validate_dot_path(field: str, path: str) -> None:
    validate_text(f"rule.{field}", path, MAX_TEXT_LENGTH)
    if not all(part.strip() for part in path.split(".")):
        raise _invalid_field(field, "must be a dot path")


def _invalid_field(field: str, rule: str) -> Unprocessable:
    return Unprocessable(f"{field} {rule}", "invalid_field", field=f"rule.{field}")
