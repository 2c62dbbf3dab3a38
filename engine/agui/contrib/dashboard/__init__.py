"""The admin's page of figures."""
