"""HTTP endpoints: one module for each family of addresses."""
