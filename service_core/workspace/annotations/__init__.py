"""Annotations: texts on days or times, shown on charts."""
