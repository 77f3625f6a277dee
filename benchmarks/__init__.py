"""Measurements of the project's own speed, run by hand."""
