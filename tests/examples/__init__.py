"""Tests that walk through examples/."""
