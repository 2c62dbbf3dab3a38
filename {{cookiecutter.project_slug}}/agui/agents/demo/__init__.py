"""The offline demo model: it needs no key and no network."""
