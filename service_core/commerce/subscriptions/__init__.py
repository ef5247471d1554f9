"""Subscriptions: their lifecycle, their recurring revenue (MRR) and its movements."""
