"""Pages for people. They are shells around the public API and hold no rule of their own."""
