"""Services of Django REST framework as tools."""
