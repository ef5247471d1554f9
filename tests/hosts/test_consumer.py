"""The consumer goes on trying, and says so without filling the log."""

import asyncio

from hosts.worker.consumer import consume_queue_until_stopped


async def test_store_failure_is_logged_with_traceback_once_and_briefly_on_each_retry(caplog):
    stop = asyncio.Event()

    class Pipeline:
        tries = 0

        async def process_batch(self):
            self.tries += 1
            if self.tries < 4:
                raise OSError("the store went away")
            stop.set()
            return 0

    await consume_queue_until_stopped(Pipeline(), stop)
    assert [(line.fault, line.pause) for line in caplog.records] == [
        ("OSError", 0.1),
        ("OSError", 0.2),
        ("OSError", 0.4),
    ]
    assert [bool(line.exc_info) for line in caplog.records] == [True, False, False]
