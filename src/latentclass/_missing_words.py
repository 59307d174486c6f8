"""Text that stands for a missing value, in files and among labels."""

MISSING_WORDS = ("", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL")
"""What programs write where a value is missing.

"None" is not among them: many tables have it as a category ("no fireplace"). In a column of numbers
`check_table` points to it.
"""
