"""Queues, limiters, ciphers and job queues that are wrong in one thing, and the promise that catches each."""

import asyncio
import base64
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count

import pytest

from plugins.cipher_keys.adapter import KeyCipher
from plugins.cipher_keys.settings import KeyFileSettings
from plugins.ingest_spool.adapter import SpoolQueue
from plugins.ingest_spool.settings import SpoolSettings
from plugins.jobs_inline.adapter import InlineJobs
from plugins.jobs_inline.settings import InlineSettings
from service_core.testing.job_queue import JobQueueConformance
from service_core.testing.queue import IngestQueueConformance
from service_core.testing.secret_cipher import SecretCipherConformance
from tests.plugin_kits.examples import load_example
from tests.plugin_kits.wrong_plugin import WrongPlugin

LIMITER, LIMITER_TESTS = load_example("limiter")


class WrongQueue(WrongPlugin, IngestQueueConformance):
    Plugin = SpoolQueue

    @pytest.fixture
    def open_queue(self, tmp_path):
        numbers = count()

        @asynccontextmanager
        async def opened():
            queue = self.Plugin(
                SpoolSettings(url="spool:///spool.db", path=tmp_path / self.file_name(next(numbers)))
            )
            await queue.start()
            yield queue
            await queue.aclose()

        return opened

    @staticmethod
    def file_name(number):
        return "spool.db"


class TestIdsAreNotClaimed(
    WrongQueue, promise="fifty_concurrent_offers_of_one_id_queue_it_once_and_count_49_duplicates"
):
    class Plugin(SpoolQueue):
        async def offer(self, arrival):
            return await super().offer(arrival._replace(claimed=False))


class TestIdsAreClaimedForEverybody(WrongQueue, promise="same_event_id_in_two_workspaces_is_queued_twice"):
    class Plugin(SpoolQueue):
        first = None

        async def offer(self, arrival):
            self.first = self.first or arrival.workspace_id
            return await super().offer(arrival._replace(workspace_id=self.first))


class TestQueueIsForgottenOnRestart(WrongQueue, promise="pending_offers_are_stored_when_the_queue_closes"):
    @staticmethod
    def file_name(number):
        return f"spool-{number}.db"


class TestTakenEventsAreGone(WrongQueue, promise="taken_events_are_taken_again_until_acknowledged"):
    class Plugin(SpoolQueue):
        last = 0

        async def take(self, limit):
            taken = [each for each in await super().take(limit) if each.seq > self.last]
            self.last = max([self.last, *(each.seq for each in taken)])
            return taken


class TestQuarantineIsForgotten(
    WrongQueue, promise="quarantined_events_are_listed_with_reason_and_replay_requeues_them"
):
    class Plugin(SpoolQueue):
        async def list_quarantined(self, workspace_id, limit):
            return []


class TestDuplicatesAreNotCounted(WrongQueue, promise="count_duplicate_counts_as_received_and_duplicate"):
    class Plugin(SpoolQueue):
        async def count_duplicate(self, *request):
            return None


class WrongLimiter(WrongPlugin, LIMITER_TESTS.TestRightLimiter):
    example, plugin_name = LIMITER, "RightLimiter"


class TestOneMoreIsAllowed(
    WrongLimiter, promise="limit_of_three_allows_three_requests_and_reports_remaining"
):
    class Plugin(LIMITER.RightLimiter):
        async def consume(self, key, limit, window_seconds):
            return replace(await super().consume(key, limit + 1, window_seconds), limit=limit)


class TestRefusalsAreCounted(WrongLimiter, promise="refused_request_is_not_counted"):
    class Plugin(LIMITER.RightLimiter):
        async def consume(self, key, limit, window_seconds):
            counted = await super().consume(key, 1_000, window_seconds)
            return replace(counted, limit=limit, allowed=counted.remaining >= 1_000 - limit)


class TestKeysAreCut(WrongLimiter, promise="keys_and_window_lengths_are_counted_separately"):
    class Plugin(LIMITER.RightLimiter):
        async def consume(self, key, limit, window_seconds):
            return await super().consume(key[:40], limit, window_seconds)


class TestCountIsReadBeforeItIsWritten(
    WrongLimiter, promise="of_400_concurrent_requests_a_limit_of_100_allows_exactly_100"
):
    class Plugin(LIMITER.RightLimiter):
        used = 0

        async def consume(self, key, limit, window_seconds):
            used = self.used
            await asyncio.sleep(0)
            self.used = used + 1
            first = await super().consume(f"{key}{used}", 1, window_seconds)
            return replace(first, allowed=used < limit, limit=limit, remaining=max(0, limit - used - 1))


class TestZeroIsNoLimit(WrongLimiter, promise="limit_of_zero_refuses_every_request"):
    class Plugin(LIMITER.RightLimiter):
        async def consume(self, key, limit, window_seconds):
            return await super().consume(key, limit or 1_000, window_seconds)


class WrongCipher(WrongPlugin, SecretCipherConformance):
    @pytest.fixture
    def cipher(self, tmp_path):
        return self.Plugin(KeyFileSettings(url="keyfile:///key", path=tmp_path / "first.key"))

    @pytest.fixture
    def other_cipher(self, tmp_path):
        return self.Plugin(KeyFileSettings(url="keyfile:///key", path=tmp_path / "second.key"))


class TestOwnerIsNotSealed(WrongCipher, promise="ciphertext_of_another_owner_is_refused"):
    class Plugin(KeyCipher):
        def encrypt(self, plaintext, associated_data):
            return super().encrypt(plaintext, b"")

        def decrypt(self, ciphertext, associated_data):
            return super().decrypt(ciphertext, b"")


class TestSecretsAreOnlyEncoded(WrongCipher, promise="ciphertext_does_not_show_the_secret"):
    class Plugin(KeyCipher):
        def encrypt(self, plaintext, associated_data):
            return base64.b64encode(plaintext)


class TestSameSecretLooksTheSame(WrongCipher, promise="same_secret_is_encrypted_differently_each_time"):
    class Plugin(KeyCipher):
        made = None

        def encrypt(self, plaintext, associated_data):
            self.made = self.made or super().encrypt(plaintext, associated_data)
            return self.made


class TestChangedCiphertextIsAnUnknownError(
    WrongCipher, promise="changed_or_cut_ciphertext_is_refused", raises=IndexError
):
    class Plugin(KeyCipher):
        def decrypt(self, ciphertext, associated_data):
            return super().decrypt(bytes([ciphertext[0]]) + ciphertext[1:], associated_data)


class TestKeyIsTheSameEverywhere(WrongCipher, promise="key_of_another_deployment_is_refused"):
    class Plugin(KeyCipher):
        def __init__(self, settings):
            super().__init__(settings.model_copy(update={"path": settings.path.with_name("one.key")}))


class WrongJobs(WrongPlugin, JobQueueConformance):
    time_limit_seconds = 0.2

    @pytest.fixture
    def jobs(self):
        return self.Plugin(InlineSettings(url="inline://", rescan_seconds=0.05))


class TestFailureEndsTheWorker(
    WrongJobs,
    promise="worker_outlives_a_failing_job_and_logs_no_data_of_it",
    raises=(TimeoutError, RuntimeError),
):
    class Plugin(InlineJobs):
        async def run_worker(self, run_next_job, stop):
            while not stop.is_set():
                await run_next_job()
                await asyncio.sleep(0.01)


class TestJobsWaitForAWakeUp(
    WrongJobs, promise="waiting_jobs_are_done_without_a_wake_up", raises=TimeoutError
):
    class Plugin(InlineJobs):
        async def run_worker(self, run_next_job, stop):
            await stop.wait()


class TestWorkerFinishesItsJob(
    WrongJobs, promise="worker_stops_and_gives_up_the_job_in_hand", raises=TimeoutError
):
    class Plugin(InlineJobs):
        async def run_worker(self, run_next_job, stop):
            while not stop.is_set():
                await run_next_job()


class TestErrorsAreLogged(WrongJobs, promise="worker_outlives_a_failing_job_and_logs_no_data_of_it"):
    class Plugin(InlineJobs):
        async def run_worker(self, run_next_job, stop):
            async def run_and_log():
                try:
                    return await run_next_job()
                except RuntimeError as error:
                    logging.getLogger("jobs").warning("%s", error)
                    return False

            await super().run_worker(run_and_log, stop)
