"""Funnels: how far people get through a sequence of events."""
