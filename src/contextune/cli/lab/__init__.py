"""The research commands, which need `contextune.lab`: answer, bench, train, generate."""
