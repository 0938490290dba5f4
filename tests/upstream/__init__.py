"""Tests of remit.upstream."""
