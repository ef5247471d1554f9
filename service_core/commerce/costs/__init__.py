"""Costs of items: imported by item and start day, and evaluated for sold items."""
