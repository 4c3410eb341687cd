"""`contextune chat`: a conversation over the user's data."""
