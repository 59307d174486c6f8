"""Naive Bayes for mixed columns, and its mixture and projected forms."""
