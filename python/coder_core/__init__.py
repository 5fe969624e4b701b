"""Typed Python interface to Microcoder."""
