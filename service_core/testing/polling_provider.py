"""The conformance kit of revenue providers that are asked: what everything that lists messages must do.

Say in a fixture whom it asks, on the loopback, and inherit the rest::

    class TestAskedShop(PollingProviderConformance):
        @pytest.fixture
        async def scene(self):
            async with my_server() as server:
                yield Scene(Shop().at(server.url), {"api_key": "k"}, (), server.play, server.sell)
"""

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import pytest

from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.commerce.providers.map_message import UnmappedMessage, map_delivery
from service_core.commerce.providers.models import PolledMessage, WebhookDelivery
from service_core.commerce.providers.ports import PollableProvider, PollRequest
from service_core.testing.ad_platform import RETRY_SECONDS, ServerFailure
from service_core.testing.ingestion_stubs import NOON

_MESSAGE_COUNT: Final = 5


@dataclass(frozen=True, slots=True)
class PollHarness:
    """A provider, and whom it asks.

    Attributes:
        secrets: those it asks with, none of them a word of any answer.
        accounts: as the connection notes them.
        fail_with: what the server does from now on instead of answering; None to answer again.
        add_message: lets one thing happen, of which one message tells; the first time as the last.
    """

    provider: PollableProvider
    secrets: Mapping[str, str]
    accounts: tuple[str, ...]
    fail_with: Callable[[ServerFailure | None], None]
    add_message: Callable[[], None]

    def make_poll(self, known_ids: Collection[str] = ()) -> PollRequest:
        """Asking for everything there is."""

        async def known(ids: Collection[str]) -> Collection[str]:
            return set(ids) & set(known_ids)

        return PollRequest(self.secrets, self.accounts, None, (), known)

    async def poll_messages(self, known_ids: Collection[str] = ()) -> list[PolledMessage]:
        """Everything there is."""
        async with aclosing(self.provider.poll_messages(self.make_poll(known_ids))) as pages:
            return [message async for page in pages for message in page]

    def message_ids(self, messages: Collection[PolledMessage]) -> list[str]:
        """By what messages are known."""
        told = [
            map_delivery(self.provider, WebhookDelivery(each.headers, each.body, NOON), "", json.loads)
            for each in messages
        ]
        assert not [each for each in told if isinstance(each, UnmappedMessage)]
        return sorted(each.message_id for each in told)


class PollingProviderConformance:
    """Every scenario of the kit; override the fixture ``scene``."""

    @pytest.fixture
    async def scene(self) -> PollHarness:
        """The provider under test, and whom it asks."""
        raise pytest.UsageError("override the fixture `scene` with the provider under test")

    def test_it_says_what_can_be_asked_of_it(self, scene: PollHarness) -> None:
        assert isinstance(scene.provider, PollableProvider)
        assert scene.provider.can_poll(scene.secrets)
        assert not scene.provider.can_poll({"webhook_secret": "s"})

    async def test_all_that_happened_is_told_under_one_id_each_and_the_same_again(
        self, scene: PollHarness
    ) -> None:
        assert await scene.poll_messages() == []
        for _ in range(_MESSAGE_COUNT):
            scene.add_message()
        ids = scene.message_ids(await scene.poll_messages())
        assert len(set(ids)) == len(ids) == _MESSAGE_COUNT
        assert scene.message_ids(await scene.poll_messages()) == ids
        assert set(scene.message_ids(await scene.poll_messages(known_ids=ids[:2]))) >= set(ids[2:])

    async def test_refused_credentials_are_told_without_them(self, scene: PollHarness) -> None:
        scene.fail_with(ServerFailure.REFUSED)
        with pytest.raises(CredentialsRejected) as caught:
            await scene.poll_messages()
        assert str(caught.value)

    async def test_how_long_to_wait_is_handed_on(self, scene: PollHarness) -> None:
        scene.fail_with(ServerFailure.BUSY)
        with pytest.raises(PlatformUnavailable) as caught:
            await scene.poll_messages()
        assert caught.value.retry_after == RETRY_SECONDS

    @pytest.mark.parametrize("trouble", [ServerFailure.GARBAGE, ServerFailure.BROKEN, ServerFailure.CUT])
    async def test_what_is_no_answer_may_be_one_later(
        self, scene: PollHarness, trouble: ServerFailure
    ) -> None:
        scene.add_message()
        scene.fail_with(trouble)
        with pytest.raises(PlatformUnavailable):
            await scene.poll_messages()
        scene.fail_with(None)
        assert len(await scene.poll_messages()) == 1

    async def test_whoever_stops_halfway_leaves_nothing_open(self, scene: PollHarness) -> None:
        for _ in range(_MESSAGE_COUNT):
            scene.add_message()
        async with aclosing(scene.provider.poll_messages(scene.make_poll())) as pages:
            assert await anext(pages)
