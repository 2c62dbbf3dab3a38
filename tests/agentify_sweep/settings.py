"""The settings of a project with other people's apps, and with what they need."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS, MIDDLEWARE
from oscar.defaults import *  # noqa: F403

OSCAR = "analytics checkout address shipping catalogue communication partner basket payment offer order customer search"
OSCAR_DASHBOARD = "reports users orders catalogue offers partners pages ranges reviews vouchers communications shipping"
WAGTAIL = "forms redirects search_promotions"
WAGTAIL_ITSELF = "embeds sites users snippets documents images search admin locales"
MACHINA = "conversation conversation.forum_attachments conversation.forum_polls feeds moderation search tracking member"
INSTALLED_APPS = [
    *INSTALLED_APPS,
    *("django.contrib.sites", "django.contrib.flatpages", "django.contrib.humanize"),
    *("widget_tweaks", "haystack", "treebeard", "django_tables2", "modelcluster", "taggit", "easy_thumbnails", "mptt"),
    "oscar.config.Shop",
    *(f"oscar.apps.{name}.apps.{name.title()}Config" for name in OSCAR.split()),
    "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
    "oscar.apps.voucher.apps.VoucherConfig",
    "oscar.apps.wishlists.apps.WishlistsConfig",
    "oscar.apps.dashboard.apps.DashboardConfig",
    *(f"oscar.apps.dashboard.{name}.apps.{name.title()}DashboardConfig" for name in OSCAR_DASHBOARD.split()),
    *(f"wagtail.contrib.{name}" for name in WAGTAIL.split()),
    *(f"wagtail.{name}" for name in WAGTAIL_ITSELF.split()),
    "wagtail",
    *("cms", "menus"),
    "machina",
    "machina.apps.forum",
    *(f"machina.apps.forum_{name}" for name in MACHINA.split()),
    "machina.apps.forum_permission",
    "filer",
    *("allauth", "allauth.account", "allauth.socialaccount", "allauth.mfa", "allauth.usersessions"),
    *("django_celery_beat", "django_celery_results", "django_q"),
    *("django_otp", "django_otp.plugins.otp_totp", "django_otp.plugins.otp_hotp"),
    *("django_otp.plugins.otp_static", "django_otp.plugins.otp_email"),
    *("oauth2_provider", "social_django", "knox", "rest_framework.authtoken", "rest_framework_api_key"),
    "rest_framework_simplejwt.token_blacklist",
    *("guardian", "invitations", "push_notifications", "reversion", "simple_history", "waffle"),
]
INSTALLED_APPS = list(dict.fromkeys(INSTALLED_APPS))
MIDDLEWARE = [*MIDDLEWARE, "allauth.account.middleware.AccountMiddleware"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
SITE_ID = 1
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
WAGTAIL_SITE_NAME = "Sweep"
WAGTAILADMIN_BASE_URL = "http://testserver"
CMS_CONFIRM_VERSION4 = True
CMS_TEMPLATES = [("cms.html", "Page")]
LANGUAGES = [("en", "English")]
LANGUAGE_CODE = "en"
