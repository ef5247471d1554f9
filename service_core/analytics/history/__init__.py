"""Answers as they were at an earlier instant."""
