"""Transforms: plugins that drop events, or change columns of them, before they are stored."""
