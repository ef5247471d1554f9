"""Backup and restore of the local data of a deployment, while it runs."""
