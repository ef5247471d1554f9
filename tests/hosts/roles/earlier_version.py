"""The part of an ingest process of an earlier version that other processes see: what it writes to the queues.

Written once, from the forms of the first version, and independent of the product's code: an upgrade keeps events coming
in only as long as new processes share claims and ledgers with this one and read what it wrote. A release that breaks that
says so in its changelog, is installed with all processes stopped, and replaces this module.
"""

import json
import sqlite3
from contextlib import closing
from hashlib import blake2b

HOUR = 3_600_000_000
CLAIM_MILLISECONDS = 7 * 24 * 3_600_000


class EarlierIngest:
    """Accepts `/track` events of one workspace and key.

    Args:
        workspace_id, key_id: as UUIDs.
        received_at: microseconds since 1970 of every event; even, as the claims of senders with a key are.
    """

    def __init__(self, workspace_id, key_id, received_at):
        self.workspace_id, self.key_id = workspace_id, key_id
        self.received_at = received_at & ~1
        self.hour = self.received_at // HOUR

    def offer_to_spool(self, path, *event_ids):
        """Claims and enqueues events in one commit; returns which of them were queued."""
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as spool:
            assert spool.execute("PRAGMA user_version").fetchone() == (2,)
            spool.execute("BEGIN IMMEDIATE")
            queued = [id_ for id_ in event_ids if self._claim_in_spool(spool, id_)]
            lane = [str(self.workspace_id), self.hour, str(self.key_id), "track"]
            arrivals, bodies = [], b""
            for id_ in queued:
                body = self.body_of(id_)
                event = [
                    0,
                    id_,
                    True,
                    self.received_at,
                    "earlier/1",
                    "203.0.113.9",
                    {"accept-language": "pl"},
                ]
                arrivals.append([*event, len(bodies), len(body)])
                bodies += body
            if queued:
                spool.execute(
                    "INSERT INTO batch (waiting, lanes, arrivals, bodies) VALUES (?, ?, ?, ?)",
                    (len(queued), json.dumps([lane]), json.dumps(arrivals), bodies),
                )
            spool.execute(
                "INSERT INTO ledger (workspace, hour, key, channel, received, duplicate) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET received = received + excluded.received, duplicate = duplicate + excluded.duplicate",
                (*lane, len(event_ids), len(event_ids) - len(queued)),
            )
            spool.execute("COMMIT")
        return queued

    def offer_to_redis(self, redis, prefix, *event_ids):
        """Claims and enqueues events of a Redis queue; returns which of them were queued."""
        queued, ledger = [], f"{prefix}:ledger:{self.workspace_id.hex}:{self.hour}"
        lane = f"{self.key_id.hex}:track"
        redis.set(f"{prefix}:sequence", self.received_at, nx=True)
        for id_ in event_ids:
            claim = f"{prefix}:claim:".encode() + self._digest(id_)
            redis.hincrby(ledger, f"{lane}:received", 1)
            if not redis.set(claim, self.received_at, nx=True, px=CLAIM_MILLISECONDS):
                redis.hincrby(ledger, f"{lane}:duplicate", 1)
                continue
            meta = [id_, True, self.received_at, "earlier/1", "203.0.113.9", {"accept-language": "pl"}]
            fields = {
                "hash": f"{self.workspace_id.hex}:{self.hour}",
                "lane": lane,
                "meta": json.dumps(meta),
                "body": self.body_of(id_),
            }
            redis.hincrby(ledger, f"{lane}:waiting", 1)
            redis.xadd(f"{prefix}:arrivals", fields, id=f"{redis.incr(f'{prefix}:sequence')}-0")
            queued.append(id_)
        return queued

    @staticmethod
    def body_of(event_id):
        return json.dumps({"event": "signup", "event_id": event_id, "user_id": "u1"}).encode()

    def _claim_in_spool(self, spool, event_id):
        try:
            spool.execute("INSERT INTO claim VALUES (?, ?)", (self._digest(event_id), self.received_at))
        except sqlite3.IntegrityError:
            return False
        return True

    def _digest(self, event_id):
        return blake2b(self.workspace_id.bytes + event_id.encode(), digest_size=16).digest()
