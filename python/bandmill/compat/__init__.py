"""Other libraries' interfaces, on this engine: one import changes, the rest of a program stays."""
