"""What was planned: protocols, amendments, drafts, and the pool that methods learn from."""
