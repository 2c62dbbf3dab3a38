"""Records of the project that a user mentions with @."""
