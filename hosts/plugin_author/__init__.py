"""Tools of plugin authors: ``touchpoint plugin new`` and ``touchpoint plugin check``."""
