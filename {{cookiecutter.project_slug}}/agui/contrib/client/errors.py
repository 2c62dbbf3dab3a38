"""What goes wrong with a remote agent. All are pydantic-ai's ModelAPIError, so a FallbackModel takes them up."""

from pydantic_ai.exceptions import ModelAPIError


class AGUIError(ModelAPIError):
    """A remote agent did not answer as it should."""

    code: str
    """What the server calls it, as in `RUN_ERROR.code`, or the client's own word."""

    def __init__(self, url: str, message: str, code: str = "") -> None:
        super().__init__(url, message, provider_error_code=code or None)
        self.code = code


class AGUIRunError(AGUIError):
    """The run failed: the server ended it with RUN_ERROR, or somebody cancelled it (code "cancelled")."""


class AGUIStatusError(AGUIError):
    """The server refused the request before a run began. `code` and the message are the body's, if it has them."""

    def __init__(
        self, url: str, status: int, message: str, code: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(url, f"{url} answered {status}: {message}", code)
        self.status = status
        self.retry_after = retry_after


class AGUIConnectionError(AGUIError):
    """The server can't be reached, was silent for too long, or the stream broke off and can't be taken up again."""


class AGUIProtocolError(AGUIError):
    """The server sent what AG-UI does not allow."""
