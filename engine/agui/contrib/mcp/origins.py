"""Pages of other sites, and what their browsers ask before they let them read an answer (CORS).

No answer allows credentials: such a page acts with a token, never with a cookie.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.http import is_same_domain

from agui.errors import Forbidden

ALLOWED_HEADERS = (
    "Accept, Authorization, Content-Type, Last-Event-ID, "
    "Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id"
)
EXPOSED_HEADERS = "Mcp-Session-Id, Retry-After, WWW-Authenticate"
DAY = 24 * 3600


def check_origin(request: HttpRequest) -> None:
    """Raise Forbidden for the page of another site: its name may point at this machine."""
    if not is_allowed(request):
        raise Forbidden("This origin is not allowed: add it to CSRF_TRUSTED_ORIGINS.")


def is_allowed(request: HttpRequest) -> bool:
    """Whether no page sends a request, or one of this site or of a trusted one."""
    origin = request.headers.get("Origin")
    if origin is None:
        return True
    # `get_host` refuses a host that is not in ALLOWED_HOSTS.
    if origin == f"{request.scheme}://{request.get_host()}":
        return True
    return any(_is_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def is_preflight(request: HttpRequest) -> bool:
    """Whether a browser asks on behalf of a page, before the page's own request."""
    return request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers


def preflight(methods: str) -> HttpResponse:
    headers = {
        "Access-Control-Allow-Methods": methods,
        "Access-Control-Allow-Headers": ALLOWED_HEADERS,
        "Access-Control-Max-Age": str(DAY),
    }
    return HttpResponse(status=204, headers=headers)


def let_read(response: HttpResponseBase, origin: str = "*") -> None:
    """Let the pages of a site read an answer, or those of every site."""
    response.headers["Access-Control-Allow-Origin"] = origin
    response.headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
    if origin != "*":
        patch_vary_headers(response, ["Origin"])


def open_to_pages(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let pages of every site use a view that asks for no cookie."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        is_question = is_preflight(request)
        response = preflight("GET, POST") if is_question else view(request, *args, **kwargs)
        let_read(response)
        return response

    return answer


def _is_trusted(origin: str, trusted: str) -> bool:
    if "*" not in trusted:
        return origin == trusted
    given, allowed = urlsplit(origin), urlsplit(trusted)
    return given.scheme == allowed.scheme and is_same_domain(
        given.netloc, allowed.netloc.lstrip("*")
    )
