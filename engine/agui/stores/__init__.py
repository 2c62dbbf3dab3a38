"""The stores of conversations."""
