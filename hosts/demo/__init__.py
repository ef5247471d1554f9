"""Real input for the demo, and the service it is shown on."""
