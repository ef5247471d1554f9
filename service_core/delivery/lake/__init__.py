"""The lake: the events of a workspace as Parquet files by day, with a manifest."""
