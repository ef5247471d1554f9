"""What goods cost: imported by item and day, and what follows for what was sold."""
