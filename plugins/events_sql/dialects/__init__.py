"""One module per engine: how statements are spelled, and how the engine is opened and written."""
