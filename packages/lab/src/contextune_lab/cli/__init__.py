"""The research commands: answer, bench, train, generate. Entry points add them to `contextune`."""
