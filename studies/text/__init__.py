"""Every word and sentence about a study that people read."""
