"""Settings, and the first run: `contextune config` and `init`."""
