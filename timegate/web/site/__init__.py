"""The pages for people: one templating path, escaped throughout, nothing from elsewhere."""
