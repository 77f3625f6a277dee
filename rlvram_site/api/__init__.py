"""What every API endpoint shares: keys, scopes, permissions, one error shape, paging, ETags, rate limits."""
