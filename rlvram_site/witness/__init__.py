"""Witnesses of the ledger: time stamps of an outside authority, and heads signed with the site's own key."""
