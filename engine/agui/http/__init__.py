"""Requests and their answers: views, authentication, limits, request bodies, threads, catalogs."""
