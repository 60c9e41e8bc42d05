"""Library to query one web archive of any kind. It does not import `timegate`."""
