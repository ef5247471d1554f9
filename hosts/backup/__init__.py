"""Backup and restore of what a deployment keeps on its machine, while it runs."""
