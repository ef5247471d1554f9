"""Values everything uses; imports nothing else of the core."""
