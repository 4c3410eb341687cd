"""Commands that show, correct and delete what is stored: places, contacts, items, statistics."""
