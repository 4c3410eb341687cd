"""Train the reading model: rows from worlds, personas and public sets; training; export."""
