"""Parts of `contextune import`: its report, and a store that writes nothing."""
