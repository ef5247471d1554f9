"""Proposals of container scripts: drafts that a person approves, and nobody else."""
