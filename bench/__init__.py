"""Measurements, never run as tests: ``python -m bench [drain|lateness|idle] [--runs N]``."""
