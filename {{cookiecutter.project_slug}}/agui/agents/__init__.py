"""Who answers: the built agent, its language models, skills and files."""
