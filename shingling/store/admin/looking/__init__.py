"""Questions of people who look at a store: filtered groups, page by page. Nothing is changed."""
