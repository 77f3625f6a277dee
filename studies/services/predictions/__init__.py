"""What was predicted: recorded sets, seals, reasons, comparison and refits."""
