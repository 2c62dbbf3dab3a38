"""The settings of a project with other people's apps, and with what they need."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS, MIDDLEWARE
from oscar.defaults import *  # noqa: F403

OSCAR = [
    "analytics.apps.AnalyticsConfig",
    "checkout.apps.CheckoutConfig",
    "address.apps.AddressConfig",
    "shipping.apps.ShippingConfig",
    "catalogue.apps.CatalogueConfig",
    "catalogue.reviews.apps.CatalogueReviewsConfig",
    "communication.apps.CommunicationConfig",
    "partner.apps.PartnerConfig",
    "basket.apps.BasketConfig",
    "payment.apps.PaymentConfig",
    "offer.apps.OfferConfig",
    "order.apps.OrderConfig",
    "customer.apps.CustomerConfig",
    "search.apps.SearchConfig",
    "voucher.apps.VoucherConfig",
    "wishlists.apps.WishlistsConfig",
    "dashboard.apps.DashboardConfig",
    "dashboard.reports.apps.ReportsDashboardConfig",
    "dashboard.users.apps.UsersDashboardConfig",
    "dashboard.orders.apps.OrdersDashboardConfig",
    "dashboard.catalogue.apps.CatalogueDashboardConfig",
    "dashboard.offers.apps.OffersDashboardConfig",
    "dashboard.partners.apps.PartnersDashboardConfig",
    "dashboard.pages.apps.PagesDashboardConfig",
    "dashboard.ranges.apps.RangesDashboardConfig",
    "dashboard.reviews.apps.ReviewsDashboardConfig",
    "dashboard.vouchers.apps.VouchersDashboardConfig",
    "dashboard.communications.apps.CommunicationsDashboardConfig",
    "dashboard.shipping.apps.ShippingDashboardConfig",
]
WAGTAIL = [
    "contrib.forms",
    "contrib.redirects",
    "contrib.search_promotions",
    "embeds",
    "sites",
    "users",
    "snippets",
    "documents",
    "images",
    "search",
    "admin",
    "locales",
]
MACHINA = [
    "forum",
    "forum_conversation",
    "forum_conversation.forum_attachments",
    "forum_conversation.forum_polls",
    "forum_feeds",
    "forum_moderation",
    "forum_search",
    "forum_tracking",
    "forum_member",
    "forum_permission",
]
INSTALLED_APPS = [
    *INSTALLED_APPS,
    *("django.contrib.sites", "django.contrib.flatpages", "django.contrib.humanize"),
    *("widget_tweaks", "haystack", "treebeard", "django_tables2", "modelcluster", "taggit", "easy_thumbnails", "mptt"),
    "oscar.config.Shop",
    *(f"oscar.apps.{name}" for name in OSCAR),
    *(f"wagtail.{name}" for name in WAGTAIL),
    "wagtail",
    *("cms", "menus"),
    "machina",
    *(f"machina.apps.{name}" for name in MACHINA),
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
