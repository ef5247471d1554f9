"""Analyses: Markdown that embeds reports."""
