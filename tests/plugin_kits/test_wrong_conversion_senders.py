"""Conversion senders that are wrong in one thing, and the promise that catches each."""

import asyncio
import json
from dataclasses import replace
from uuid import uuid4

from service_core.plugin import Accepted, CredentialsRejected, PlatformUnavailable, Rejected, raise_for_status
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

EXAMPLE, TESTS = load_example("conversion_sender")
send, to_sale, read_response = EXAMPLE.send, EXAMPLE.to_sale, EXAMPLE.read_response


class WrongSender(WrongPlugin, TESTS.TestRightConversionSender):
    example = EXAMPLE


def to_raw_sale(conversion):
    return to_sale(conversion) | {"email": conversion.customer.email}


class TestPersonalDataIsNotHashed(
    WrongSender, promise="personal_data_is_hashed_in_the_request", replaced={"to_sale": to_raw_sale}
):
    """See what is replaced."""


def read_response_trying_twice(request, clock):
    try:
        status, *answer = read_response(request, clock)
    except PlatformUnavailable:
        return read_response(request, clock)
    return (status, *answer) if status < 500 and status != 429 else read_response(request, clock)


class TestFailuresAreTriedAgain(
    WrongSender,
    promise="failed_request_is_not_sent_again",
    replaced={"read_response": read_response_trying_twice},
):
    """See what is replaced."""


async def send_swallowing_errors(call):
    try:
        return await send(call)
    except PlatformUnavailable:
        return [Accepted(200)] * len(call.conversions)


class TestFailuresAreSwallowed(
    WrongSender,
    promise="failing_server_raises_platform_unavailable_and_accepts_nothing",
    replaced={"send": send_swallowing_errors},
):
    """See what is replaced."""


def to_sale_with_new_id(conversion):
    return to_sale(conversion) | {"id": str(uuid4())}


class TestEventIdIsNewEachTime(
    WrongSender,
    promise="resending_a_batch_sends_the_same_body_and_counts_once",
    replaced={"to_sale": to_sale_with_new_id},
):
    """See what is replaced."""


async def send_tests_as_sales(call):
    return await send(replace(call, destination=replace(call.destination, test=False)))


class TestTestsAreCounted(
    WrongSender,
    promise="test_destination_validates_conversions_without_counting_them",
    replaced={"send": send_tests_as_sales},
):
    """See what is replaced."""


async def send_showing_the_token(call):
    try:
        return await send(call)
    except CredentialsRejected:
        raise CredentialsRejected(f"Boards refuses {call.secrets['token']}.") from None


class TestErrorsHaveTheToken(
    WrongSender,
    promise="rejected_credentials_raise_credentials_rejected_without_secrets",
    replaced={"send": send_showing_the_token},
):
    """See what is replaced."""


def to_sale_with_nulls(conversion):
    return {"click": None, "value": None} | to_sale(conversion)


class TestUnknownFieldsAreNull(
    WrongSender,
    promise="unknown_fields_are_left_out_of_the_request",
    replaced={"to_sale": to_sale_with_nulls},
):
    """See what is replaced."""


def raise_with_the_whole_answer(status, code, wait):
    raise_for_status(status, "ada@example.com is no customer" if status >= 400 else code, wait)


class TestReasonIsTheTextOfThePlatform(
    WrongSender,
    promise="rejection_has_a_code_without_secrets_or_personal_data",
    replaced={"raise_for_status": raise_with_the_whole_answer},
):
    """See what is replaced."""


last_call = []


async def send_to_the_last_destination(call):
    last_call[:] = [call]
    await asyncio.sleep(0)
    return await send(replace(call, destination=last_call[0].destination))


class TestDestinationIsKeptBetweenCalls(
    WrongSender,
    promise="concurrent_batches_reach_their_own_destinations",
    replaced={"send": send_to_the_last_destination},
):
    """See what is replaced."""


class BlockingAsyncio:
    """Runs what should run in a thread in the event loop."""

    @staticmethod
    async def to_thread(function, *arguments):
        return function(*arguments)


class TestSendingBlocksTheLoop(
    WrongSender, promise="calls_do_not_block_the_event_loop", replaced={"asyncio": BlockingAsyncio}
):
    """See what is replaced."""


async def send_giving_up(call):
    try:
        return await send(call)
    except PlatformUnavailable as error:
        return [Rejected("unavailable", error.http_status)] * len(call.conversions)


class TestBusyServerIsARejection(
    WrongSender,
    promise="temporary_http_status_raises_platform_unavailable_with_the_status",
    replaced={"send": send_giving_up},
):
    """See what is replaced."""


async def send_backwards(call):
    return await send(replace(call, conversions=call.conversions[::-1]))


class TestOrderIsTurnedAround(
    WrongSender, promise="batch_is_accepted_in_order", replaced={"send": send_backwards}
):
    """See what is replaced."""


async def send_only_the_first(call):
    return await send(replace(call, conversions=call.conversions[:1]))


class TestOutcomesAreTooFew(
    WrongSender, promise="batch_is_accepted_in_order", replaced={"send": send_only_the_first}
):
    """See what is replaced."""


class JsonWithoutFaults:
    """Reads anything as an empty object."""

    dumps = staticmethod(json.dumps)

    @staticmethod
    def loads(text):
        return {}


class TestGarbageIsSuccess(
    WrongSender,
    promise="failing_server_raises_platform_unavailable_and_accepts_nothing",
    case="[garbage]",
    replaced={"json": JsonWithoutFaults},
):
    """See what is replaced."""
