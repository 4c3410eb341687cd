"""REST service for many users; a bearer token identifies the user."""
