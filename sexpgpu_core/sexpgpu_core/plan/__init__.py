"""Calls in an order, storages at addresses."""
