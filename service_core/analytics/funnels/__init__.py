"""Funnels: how many people or sessions complete a sequence of events."""
