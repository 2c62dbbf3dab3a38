"""Why the installer does not do what it was asked for."""


class Refusal(Exception):
    """One sentence for the user. The project is as it was."""


class Unfinished(Exception):
    """One sentence for the user. The project is as an interrupted run has left it."""
