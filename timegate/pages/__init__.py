"""HTML pages for people: views, templates, static files."""
