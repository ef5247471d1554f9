"""People: who was there, what they did and what they are worth."""
