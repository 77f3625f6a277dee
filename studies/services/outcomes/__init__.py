"""What happened: attempts, what each is to its slot, corrections, and the evidence behind them."""
