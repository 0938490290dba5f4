"""Plans and findings as text and JSON. Pure: strings and documents out, nothing written."""
