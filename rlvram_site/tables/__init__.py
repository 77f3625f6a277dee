"""Every table of a page: labels for a phone's cards, order and filter kept in the address, and files."""
