"""Signup: a pending signup, a checkout, and a workspace that is created once after payment."""
