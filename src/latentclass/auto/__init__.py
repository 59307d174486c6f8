"""A classifier that tries the families on a table and answers by a weighted average of them."""
