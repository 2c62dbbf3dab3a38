"""The cost of runs, and budgets of users."""
