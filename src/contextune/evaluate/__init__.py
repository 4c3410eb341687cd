"""Measure how well the tools of a catalogue are found (`contextune eval`)."""
