"""The transfer suite: submissions and their results."""
