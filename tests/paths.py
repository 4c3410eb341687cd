"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"
"""Research data beside the checkout; tests that need it are skipped if it is missing."""
MCP_SERVERS = ROOT / "tests" / "tools" / "servers"
