"""Signing up: a pending signup, a checkout, and a workspace that exists exactly once after payment."""
