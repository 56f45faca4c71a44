"""Behavioural admission testing for agent skills."""
