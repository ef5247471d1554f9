"""One package per engine: how statements are spelled, and how the engine is opened, written and tidied."""
