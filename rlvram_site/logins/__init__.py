"""How people come in: limits on guessing, two steps, and an identity provider of one's own."""
