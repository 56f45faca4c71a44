"""Telling people and machines: terminal, JSON, HTML."""
