"""What every API endpoint shares: keys and scopes, permissions, one error shape, pagination, ETags, rate limits."""
