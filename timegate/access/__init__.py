"""Access rules: blocked addresses, restricted archives, networks of clients."""
