"""Errors of remote agents. They are ModelAPIErrors, so pydantic-ai's FallbackModel handles them."""

from pydantic_ai.exceptions import ModelAPIError


class AGUIError(ModelAPIError):
    """A remote agent did not answer as it should."""

    code: str
    """The server's word for it, as in `RUN_ERROR.code`, or the client's."""

    def __init__(self, url: str, message: str, code: str = "") -> None:
        super().__init__(url, message, provider_error_code=code or None)
        self.code = code


class AGUIRunError(AGUIError):
    """The run ended with RUN_ERROR, or was cancelled (code "cancelled")."""


class AGUIStatusError(AGUIError):
    """The server refused the request before a run began.

    `code` and the message come from the body, if it has them.
    """

    def __init__(
        self, url: str, status: int, message: str, code: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(url, f"{url} answered {status}: {message}", code)
        self.status = status
        self.retry_after = retry_after


class AGUIConnectionError(AGUIError):
    """The server can't be reached, was silent for too long, or its stream broke off for good."""


class AGUIProtocolError(AGUIError):
    """The server sent what AG-UI does not allow."""
