"""What the predictions were worth: panel, evaluations, held-out families, costs, pairs."""
