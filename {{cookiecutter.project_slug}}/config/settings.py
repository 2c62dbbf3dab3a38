"""Settings of the project: one file, driven by the environment (see .env.example)."""

import os
import sys
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import django
import environ

BASE_DIR = Path(__file__).resolve().parent.parent

env = environ.Env()
environ.Env.read_env(BASE_DIR / ".env")
os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")  # Keep a library's greeting out of the log.

DEBUG = env.bool("DEBUG", default=False)
if DEBUG:
    SECRET_KEY = env.str("SECRET_KEY", default="django-insecure-development-only")
    ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
else:
    SECRET_KEY = env.str("SECRET_KEY")
    ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=[])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
SITE_NAME = env.str("SITE_NAME", default="Assistant")

# --- The agent: which model answers, and the limits of the engine (the manual's settings.md)

AGENT_MODEL = env.str("AGENT_MODEL", default="demo")
AGUI: dict[str, object] = {
    "CONVERSATION_MODEL": "assistant.Conversation",
    "SEARCH_TOOLS_ABOVE": env.int("SEARCH_TOOLS_ABOVE", default=40) or None,
}

# --- Applications

INSTALLED_APPS = [
    "agui.server.daphne_app.DaphneConfig",  # daphne comes first, so `runserver` serves ASGI.
    "agui.contrib.admin_chat",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "users",
    # Before "agui": its templates replace those of the engine.
    "assistant",
    "agui",
    "agui.contrib.admin",
    "agui.contrib.agentify",
    "agui.contrib.attachments",
    "agui.contrib.bundle",
    "agui.contrib.charts",
    "agui.contrib.client",
    "agui.contrib.dashboard",
    "agui.contrib.demo",
    "agui.contrib.documents",
    "agui.contrib.drf_mcp",
    "agui.contrib.durable",
    "agui.contrib.evals",
    "agui.contrib.export",
    "agui.contrib.fast",
    "agui.contrib.feedback",
    "agui.contrib.formulas",
    "agui.contrib.mcp",
    "agui.contrib.mentions",
    "agui.contrib.notifications",
    "agui.contrib.oauth",
    "agui.contrib.observe",
    "agui.contrib.office",
    "agui.contrib.pacing",
    "agui.contrib.queue",
    "agui.contrib.redis",
    "agui.contrib.session_store",
    "agui.contrib.sources",
    "agui.contrib.spending",
    "agui.contrib.suggestions",
    "agui.contrib.terminal",
    "agui.contrib.titles",
    "agui.contrib.views",
    "agui.contrib.voice",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    (
        "django.middleware.csp.ContentSecurityPolicyMiddleware"
        if django.VERSION >= (6, 0)
        else "csp.middleware.CSPMiddleware"
    ),
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
    # This one is the last: all above then run in one thread, which is faster.
    "agui.server.middleware.in_one_thread",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "config.context.site",
            ],
        },
    },
]

# --- Database: SQLite set up for concurrent writers, or PostgreSQL by DATABASE_URL

DATABASES = {
    "default": env.db("DATABASE_URL", default=f"sqlite:///{quote(str(BASE_DIR / 'db.sqlite3'))}")
}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
    # The test database is a file, because runs and tools use it from several threads.
    DATABASES["default"]["TEST"] = {"NAME": BASE_DIR / "test.sqlite3"}
elif DATABASES["default"]["ENGINE"] == "django.db.backends.postgresql":
    if find_spec("psycopg") is None and find_spec("psycopg2") is None:
        sys.exit("DATABASE_URL names PostgreSQL. Its driver is missing: make setup EXTRAS=postgres")
    # Without these, a query waits for minutes or for ever if its server vanishes.
    DATABASES["default"]["OPTIONS"] = {
        "connect_timeout": 5,  # seconds
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "tcp_user_timeout": 20_000,  # milliseconds
    } | DATABASES["default"].get("OPTIONS", {})
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Cache: AGUI["THROTTLE"] counts in it, for each process or, with REDIS_URL, for all of them

CACHES: dict[str, dict[str, object]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        # Many more than by default: the cache forgets entries that it has no room for.
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}
REDIS_URL = env.str("REDIS_URL", default="")  # The part redis reads it, too.
if REDIS_URL:
    CACHES["default"] = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    }

# --- Users

AUTH_USER_MODEL = "users.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
# django-axes counts failed attempts to sign in (security.md of the manual). This many lock an
# account at an address, and ten times as many lock the address.
AUTHENTICATION_BACKENDS = ["agui.server.sign_in.LimitedModelBackend"]
AXES_HANDLER = "agui.server.sign_in.Attempts"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_CALLABLE = "agui.server.sign_in.locked_out"
AXES_CLIENT_IP_CALLABLE = "agui.server.sign_in.client_address"
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_DISABLE_ACCESS_LOG = True  # Keep no record of successful sign-ins.
AXES_ENABLE_ADMIN = AXES_VERBOSE = False
AXES_SENSITIVE_PARAMETERS = ["username", "csrfmiddlewaretoken"]
LOGIN_REDIRECT_URL = "chat"
LOGOUT_REDIRECT_URL = "login"

# --- Language, time and files

# The browser asks for one of LANGUAGES, and LANGUAGE_CODE is for those that ask for none of them.
LANGUAGE_CODE = "en-us"
LANGUAGES = [
    ("en", "English"),
    ("ar", "العربية"),
    ("de", "Deutsch"),
    ("es", "Español"),
    ("fr", "Français"),
    ("ja", "日本語"),
]
# A user's choice in the menu of languages counts before that.
LANGUAGE_COOKIE_AGE = 365 * 24 * 60 * 60  # seconds
LANGUAGE_COOKIE_SAMESITE = "Lax"
LANGUAGE_COOKIE_HTTPONLY = True
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
# A developer's machine serves the sources, production STATIC_ROOT (`manage.py collectstatic`).
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG
MEDIA_ROOT = env.path("MEDIA_ROOT", default=BASE_DIR / "media")
FILE_UPLOAD_PERMISSIONS = 0o640  # Other accounts of the machine must not read uploads.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "agui.contrib.bundle.storage.StaticFiles"},
}
if DEBUG:
    STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"

# --- Security

# The page loads nothing from elsewhere and runs no inline script or style.
SECURE_CSP = {
    "default-src": ["'none'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'none'"],
}
if "agui.contrib.views" in INSTALLED_APPS:
    # Only the frames of cards let themselves be framed, and only by pages of the site.
    SECURE_CSP["frame-src"] = ["'self'"]
CONTENT_SECURITY_POLICY = {"DIRECTIVES": SECURE_CSP}  # What django-csp calls it
X_FRAME_OPTIONS = "DENY"
# How many proxies a request passes. The site believes what they say about the client's address and
# https. Set it only if the outermost one overwrites X-Forwarded-Proto: otherwise a client could
# claim https.
BEHIND_PROXY = env.int("BEHIND_PROXY", default=0)
if not DEBUG:
    SECURE_SSL_REDIRECT = env.bool("SECURE_SSL_REDIRECT", default=True)
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|livez)$"]
    if BEHIND_PROXY:
        SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # Browsers insist on https for this long, for the site and its subdomains. An hour is for the
    # first days. Set a year afterwards.
    SECURE_HSTS_SECONDS = env.int("SECURE_HSTS_SECONDS", default=60 * 60)
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = True

# --- Logging: one line an event on standard error, as text for people or as JSON for programs

LOG_LEVEL = env.str(
    "LOG_LEVEL", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"run": {"()": "agui.server.logs.RunFields"}},
    "formatters": {
        "text": {
            "()": "agui.server.logs.TextFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "agui.server.logs.JsonFormatter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": env.str("LOG_FORMAT", default="text", choices=["text", "json"]),
            "filters": ["run"],
        },
    },
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        "agui": {"level": LOG_LEVEL},
        "assistant": {"level": LOG_LEVEL},
        "django": {"level": LOG_LEVEL},
        "django.server": {"propagate": True},  # This drops Django's own handler.
    },
}
