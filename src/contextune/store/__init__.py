"""Where a user's items, uses and vectors live."""
