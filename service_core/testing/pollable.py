"""The conformance kit of revenue providers that are asked: what everything that lists messages must do.

Say in a fixture whom it asks, on the loopback, and inherit the rest::

    class TestAskedShop(PollableConformance):
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

from service_core.commerce.platform_faults import PlatformDown, PlatformRefused
from service_core.commerce.providers.model import Delivery, ProviderMessage
from service_core.commerce.providers.ports import Poll, Pollable
from service_core.commerce.providers.reading import Unread, read_message
from service_core.testing.ad_platform import RETRY_SECONDS, Trouble
from service_core.testing.intake import NOON

_HAPPENED: Final = 5


@dataclass(frozen=True, slots=True)
class Scene:
    """A provider, and whom it asks.

    Attributes:
        secrets: those it asks with, none of them a word of any answer.
        accounts: as the connection notes them.
        play: what the server does from now on instead of answering; None to answer again.
        happen: lets one thing happen, of which one message tells; the first time as the last.
    """

    provider: Pollable
    secrets: Mapping[str, str]
    accounts: tuple[str, ...]
    play: Callable[[Trouble | None], None]
    happen: Callable[[], None]

    def poll(self, kept: Collection[str] = ()) -> Poll:
        """Asking for everything there is."""

        async def known(ids: Collection[str]) -> Collection[str]:
            return set(ids) & set(kept)

        return Poll(self.secrets, self.accounts, None, (), known)

    async def read(self, kept: Collection[str] = ()) -> list[ProviderMessage]:
        """Everything there is."""
        async with aclosing(self.provider.messages(self.poll(kept))) as pages:
            return [message async for page in pages for message in page]

    def ids(self, messages: Collection[ProviderMessage]) -> list[str]:
        """By what messages are known."""
        told = [
            read_message(self.provider, Delivery(each.headers, each.body, NOON), "", json.loads)
            for each in messages
        ]
        assert not [each for each in told if isinstance(each, Unread)]
        return sorted(each.message_id for each in told)


class PollableConformance:
    """Every scenario of the kit; override the fixture ``scene``."""

    @pytest.fixture
    async def scene(self) -> Scene:
        """The provider under test, and whom it asks."""
        raise pytest.UsageError("override the fixture `scene` with the provider under test")

    def test_it_says_what_can_be_asked_of_it(self, scene: Scene) -> None:
        assert isinstance(scene.provider, Pollable)
        assert scene.provider.is_open(scene.secrets)
        assert not scene.provider.is_open({"webhook_secret": "s"})

    async def test_all_that_happened_is_told_under_one_id_each_and_the_same_again(self, scene: Scene) -> None:
        assert await scene.read() == []
        for _ in range(_HAPPENED):
            scene.happen()
        ids = scene.ids(await scene.read())
        assert len(set(ids)) == len(ids) == _HAPPENED
        assert scene.ids(await scene.read()) == ids
        assert set(scene.ids(await scene.read(kept=ids[:2]))) >= set(ids[2:])

    async def test_refused_credentials_are_told_without_them(self, scene: Scene) -> None:
        scene.play(Trouble.REFUSED)
        with pytest.raises(PlatformRefused) as caught:
            await scene.read()
        assert str(caught.value)

    async def test_how_long_to_wait_is_handed_on(self, scene: Scene) -> None:
        scene.play(Trouble.BUSY)
        with pytest.raises(PlatformDown) as caught:
            await scene.read()
        assert caught.value.retry_after == RETRY_SECONDS

    @pytest.mark.parametrize("trouble", [Trouble.GARBAGE, Trouble.BROKEN, Trouble.CUT])
    async def test_what_is_no_answer_may_be_one_later(self, scene: Scene, trouble: Trouble) -> None:
        scene.happen()
        scene.play(trouble)
        with pytest.raises(PlatformDown):
            await scene.read()
        scene.play(None)
        assert len(await scene.read()) == 1

    async def test_whoever_stops_halfway_leaves_nothing_open(self, scene: Scene) -> None:
        for _ in range(_HAPPENED):
            scene.happen()
        async with aclosing(scene.provider.messages(scene.poll())) as pages:
            assert await anext(pages)
