#!/bin/sh
# Create the role and the database of the service. The role is no superuser, so row-level security holds for it.
set -eu
psql --no-psqlrc --set ON_ERROR_STOP=1 --set password="$CONTEXTUNE_PASSWORD" \
  --username "${POSTGRES_USER:-postgres}" --dbname "${POSTGRES_DB:-postgres}" <<'SQL'
CREATE ROLE contextune LOGIN PASSWORD :'password';
CREATE DATABASE contextune OWNER contextune;
SQL
