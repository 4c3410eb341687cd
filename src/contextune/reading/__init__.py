"""The reading model: reads a request beside an item, a tool or the values of an argument.

One small cross-encoder with three uses. Everything it compares is text: items, tools and arguments are never
classes, so it works with any catalogue.
"""
