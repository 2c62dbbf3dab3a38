"""Who asks for what: views, authentication, limits, request bodies, threads, catalogs."""
