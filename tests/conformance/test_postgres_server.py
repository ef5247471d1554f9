"""The PostgreSQL that tests are given: empty for each, durable when asked, as dead as a test makes it."""

from contextlib import closing
from select import select

import psycopg
import pytest


@pytest.fixture(params=["one", "another"])
def connection(request, postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {request.param} (n int)")
        yield connection


def test_every_test_has_its_own_empty_database(connection):
    tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert tables == (1,)


def test_committed_rows_survive_a_kill(postgres_server):
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
        connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
    postgres_server.kill()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres_server.url, connect_timeout=1)
    postgres_server.start()
    with psycopg.connect(postgres_server.url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (7,)


def test_suspended_server_answers_nothing_until_resumed(postgres_server):
    with closing(psycopg.connect(postgres_server.url)) as connection:
        postgres_server.suspend()
        connection.pgconn.send_query(b"SELECT 1")
        connection.pgconn.flush()
        assert not select([connection], [], [], 0.2)[0]
        postgres_server.resume()
        assert select([connection], [], [], 60)[0]


def test_other_roles_need_a_password(postgres_server):
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE clerk LOGIN PASSWORD 'right'")
    address = postgres_server.url.replace("touchpoint@", "clerk:{}@")
    psycopg.connect(address.format("right")).close()
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(address.format("wrong"))
