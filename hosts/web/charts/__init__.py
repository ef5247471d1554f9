"""Charts as values: where things stand in a picture. The templates draw them, escape every text, and style nothing inline."""
