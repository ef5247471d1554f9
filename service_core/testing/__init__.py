"""Conformance kits and the standard world, shipped so that third parties run them too."""
