"""HTTP server: connections, middleware, routes, limits, reload, worker processes."""
