"""Ratings of answers by users."""
