"""The order in which things were recorded, and when each became known."""
