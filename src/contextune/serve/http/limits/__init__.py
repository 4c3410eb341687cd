"""Limits that keep the service useful under load: rates, waits, deadlines and connections."""
