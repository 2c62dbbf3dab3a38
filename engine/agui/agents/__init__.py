"""The agent that answers: how it is built, its language models, skills and files."""
