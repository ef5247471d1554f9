"""Funnels."""
