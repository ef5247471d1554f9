"""Writes the lakes of a deployment: Parquet by Polars, and the task that writes what is due."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from hosts.composition.ports import Ports
from service_core.analytics.reads.export_streams import RowBatch
from service_core.delivery.exports.table import CellFormat
from service_core.delivery.lake.columns import MONEY_DECIMALS, LakeColumn
from service_core.delivery.lake.money_tables import MoneyTableReader
from service_core.delivery.lake.ports import LakeStorage
from service_core.delivery.lake.write_lake import LakeWriter
from service_core.kernel.errors import StartupError

if TYPE_CHECKING:
    import polars as pl

LAKE_SECONDS: Final = 60
"""Interval of the look for lakes that are due."""

_log: Final = logging.getLogger("touchpoint.lake")


def build_lake_writer(ports: Ports) -> LakeWriter:
    """Returns the component that writes lakes.

    Raises:
        StartupError: the deployment has no storage for them.
    """
    storage = require_lake_storage(ports)

    async def last_erased_at(workspace_id: UUID) -> datetime | None:
        erasures = await ports.workspace.erasures.list_erasures(workspace_id)
        return max((done.completed_at for done in erasures if done.completed_at is not None), default=None)

    return ports.build_from_adapters(
        LakeWriter,
        storage=storage,
        last_erased_at=last_erased_at,
        create_file=PolarsParquetFile,
        money=ports.build_from_adapters(MoneyTableReader),
    )


def require_lake_storage(ports: Ports) -> LakeStorage:
    """Returns the storage of lakes.

    Raises:
        StartupError: the deployment has none.
    """
    if ports.lake is None:
        raise StartupError(
            'lake.storage is empty. Name a folder or a bucket, as in lake.storage = "local:///lake".'
        )
    return ports.lake


async def write_and_log_due_lakes(writer: LakeWriter, interval: timedelta) -> None:
    """Writes the lakes that are due, and logs their size."""
    for manifest in await writer.write_due_lakes(interval):
        _log.info(
            "lake of workspace %s: %d events in %d files",
            manifest.workspace_id,
            manifest.row_count,
            len(manifest.files),
        )


class PolarsParquetFile:
    """A Parquet file, made by Polars. The same rows in the same order give the same bytes.

    Args:
        columns: of the file.
    """

    def __init__(self, columns: Sequence[LakeColumn]) -> None:
        self._columns = columns
        self._frames: list[pl.DataFrame] = []

    def add_rows(self, batch: RowBatch) -> int:
        """Adds a batch of rows; returns how many they are."""
        from hosts.worker.export_formats import build_frame  # noqa: PLC0415 - with it come the data frames

        frame = build_frame(self._columns, batch)
        self._frames.append(frame.select(map(_typed_column, self._columns)))
        return len(frame)

    @property
    def memory_bytes(self) -> int:
        """Returns about how many bytes its rows take in memory."""
        return sum(int(frame.estimated_size()) for frame in self._frames)

    def encode(self) -> bytes:
        """Returns the content of the file."""
        import polars as pl  # noqa: PLC0415 - likewise

        out = BytesIO()
        pl.concat(self._frames, rechunk=True).write_parquet(out)
        return out.getvalue()


def _typed_column(column: LakeColumn) -> "pl.Expr":
    import polars as pl  # noqa: PLC0415 - likewise

    from hosts.worker.export_formats import money_as_decimal_text_by_row_currency  # noqa: PLC0415 - likewise

    types: dict[CellFormat, Any] = {CellFormat.INTEGER: pl.Int64, CellFormat.FLAG: pl.Boolean}
    if column.format is CellFormat.MONEY:
        return money_as_decimal_text_by_row_currency(column.name).cast(pl.Decimal(38, MONEY_DECIMALS))
    value = pl.col(column.name)
    if column.format is CellFormat.INSTANT:
        return value.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return value.cast(types.get(column.format, pl.String))
