"""Answers of the API as cards: which picture suits an answer, and the numbers it is drawn from."""
