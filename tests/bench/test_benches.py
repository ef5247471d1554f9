"""The benches of ingest and consumer run, and refuse figures of a store that does not hold what was sent."""

import asyncio
import sqlite3

import pytest

from tests.bench import figures, ingest, ingest_consumer, serving

PAGE = "# Figures\n\n<!-- bench ingest -->\nold\n<!-- end ingest -->\n\n<!-- bench other -->\nkept\n<!-- end other -->\n"


@pytest.fixture(autouse=True)
def scratch_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_consumer_bench_moves_and_checks_all_events():
    measured = asyncio.run(ingest_consumer.main(60))
    assert {"take", "enrich", "append", "acknowledge"} <= set(measured.cost_by_phase)
    assert "together" in dict(ingest_consumer.render_rows(measured))
    assert measured.per_second > 0


async def test_consumer_bench_refuses_a_store_without_the_events():
    async with ingest_consumer.filled_queue(3) as (ports, _):
        with pytest.raises(AssertionError, match="the store holds"):
            await ingest_consumer.require_stored_purchases(ports.events, 3)


def test_ingest_bench_measures_a_server_and_checks_the_queue():
    [row] = ingest.measure_servers(["uvicorn"], rounds=1, seconds=0.2)
    assert (row[0], len(row)) == ("uvicorn", len(ingest.HEAD))


def test_ingest_bench_refuses_a_queue_without_the_events(tmp_path):
    with sqlite3.connect(tmp_path / "spool.db") as connection:
        connection.executescript("CREATE TABLE batch (waiting INTEGER); CREATE TABLE claim (id BLOB)")
    connection.close()
    with pytest.raises(AssertionError, match="5 acknowledged"):
        ingest.require_acknowledged_in_queue(tmp_path / "spool.db", [{"events": 6, "refused": {"429": 1}}])
    with pytest.raises(AssertionError, match="nothing was acknowledged"):
        ingest.require_acknowledged_in_queue(tmp_path / "spool.db", [{"events": 0, "refused": {}}])


def test_serving_bench_runs(monkeypatch):
    monkeypatch.setattr(serving, "IDLE_SECONDS", 0)
    found = serving.measure([], rate=50, seconds=1)
    assert found["counted by the API, of those sent"] == "50 of 50"
    assert {"/health p99", "CPU of api, an event", "CPU of consumer, an event"} <= set(found)


def test_figures_of_changed_code_are_not_written(tmp_path, monkeypatch):
    page = tmp_path / "figures.md"
    page.write_text(PAGE)
    monkeypatch.setattr(figures, "describe_commit", lambda: "0123abc-dirty")
    with pytest.raises(SystemExit, match="Commit first"):
        figures.write_figures("ingest", "new", page)
    assert page.read_text() == PAGE


def test_figures_replace_their_own_table_and_name_date_commit_and_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "describe_commit", lambda: "0123abc")
    page = tmp_path / "figures.md"
    page.write_text(PAGE)
    figures.write_figures("ingest", figures.markdown_table(("a", "b"), [("1", "2")]), page)
    text = page.read_text()
    assert "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nTaken 20" in text
    assert " cores, " in text
    assert " from " in text
    assert "old" not in text
    assert "kept" in text
    with pytest.raises(LookupError):
        figures.write_figures("missing", "", page)


@pytest.mark.parametrize("bench", ["ingest", "ingest_consumer", "serving"])
def test_page_of_figures_has_a_place_for_each_bench(bench):
    text = figures.PAGE.read_text()
    assert figures.replace_figures(text, bench, "new") != text
