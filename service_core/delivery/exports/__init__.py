"""Exports: a job per file, from the request to the download and the end of the file."""
