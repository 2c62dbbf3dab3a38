"""Why the installer does nothing."""


class Refusal(Exception):
    """One sentence for the user. The project is as it was."""
