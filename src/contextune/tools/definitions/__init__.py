"""Tool definitions: read from documents, validated, and converted from the formats of other libraries."""
