"""Sample input of the demo, and the service it runs."""
