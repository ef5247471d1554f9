"""Postbacks: conversions matched by rules, stored in an outbox and sent to ad platforms."""
