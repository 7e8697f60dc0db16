"""Ways out, and what training needs to take them: small models trained on the spot."""
