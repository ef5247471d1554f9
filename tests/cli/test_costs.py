"""`touchpoint costs import`: a file of costs is checked row by row, and imported whole or not at all."""

import asyncio
from pathlib import Path

import pytest

from hosts.cli.deployment import open_workspace_store

GOOD = "sku,variant_id,unit_cost,handling_cost,effective_from\nSHIRT,,8.50,1,\n,22,3.5,,2026-06-01\n"


@pytest.fixture
def import_costs(touchpoint, deployment, tmp_path):
    def run(text, *arguments, **more):
        file = tmp_path / "costs.csv"
        file.write_text(text)
        return touchpoint("costs", "import", file, *arguments, "--config", deployment["config"], **more)

    async def kept():
        async with open_workspace_store(Path(deployment["config"])) as directory:
            (workspace,) = await directory.credentials.list_workspaces()
            return [
                (
                    cost.item,
                    cost.effective_from.isoformat(),
                    cost.unit_cost,
                    cost.handling_cost,
                    cost.currency,
                )
                for cost in await directory.item_costs.list_costs(workspace.id)
            ]

    run.kept = lambda: asyncio.run(kept())
    return run


def test_file_is_validated_imported_and_imported_again(import_costs):
    result = import_costs(GOOD, "--from", "2026-07-01", "--currency", "eur", "--check").output
    assert "2 rows are good; nothing was changed." in result
    assert import_costs.kept() == []
    for _ in range(2):
        assert (
            "2 costs are imported." in import_costs(GOOD, "--from", "2026-07-01", "--currency", "eur").output
        )
        assert import_costs.kept() == [
            ("SHIRT", "2026-07-01", 8_500_000, 1_000_000, "EUR"),
            ("22", "2026-06-01", 3_500_000, None, "EUR"),
        ]


def test_rejected_rows_are_shown_and_nothing_is_imported(import_costs):
    result = import_costs(GOOD + "MUG,,-1,,2026-06-01\n", code=1).output.split()
    assert result[:6] == ["row", "reason", "1", "invalid_date", "3", "negative_cost"]
    assert " ".join(result[6:]) == "2 of 3 rows are rejected; nothing was changed."
    assert import_costs.kept() == []


def test_unreadable_file_is_refused_with_one_sentence(import_costs):
    assert "No column is called 'price'" in import_costs("sku,price\nA,1\n", code=1).output
    assert "three letters" in import_costs(GOOD, "--currency", "euro", code=2).output
