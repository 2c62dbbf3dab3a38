"""The one error of what can't be written."""


class Refused(ValueError):
    """A model, or what the user named, can't be used. The message says why, in one sentence."""
