"""Observability of the service: structured logs, Prometheus metrics and OpenTelemetry spans."""
