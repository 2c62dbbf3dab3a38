"""What agentify takes from a model: which fields are secret, set and shown, and whose rows may be chosen."""

import ast
import re

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.fields import GenericForeignKey
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import models
from django.forms import ModelForm
from django.test.utils import isolate_apps

from agui.contrib.agentify import forms
from agui.contrib.agentify.describe import describe
from agui.contrib.agentify.names import names_of
from agui.contrib.agentify.refusal import Refused
from agui.contrib.agentify.secrets import has_secret_key, is_secret_name
from agui.contrib.agentify.write_tests import write_tests
from agui.contrib.agentify.write_tools import ToolsWriter

User = get_user_model()


@pytest.fixture(autouse=True)
def apart():
    """Models of these tests stay out of the project's own."""
    with isolate_apps("users", "django.contrib.auth", "django.contrib.contenttypes"):
        yield


def words(text: str) -> list[str]:
    return text.split()


def model(name: str, /, **attributes) -> type[models.Model]:
    meta = type("Meta", (), {"app_label": "users"})
    return type(models.Model)(name, (models.Model,), {"__module__": "users.models", "Meta": meta, **attributes})


def text(**options) -> models.CharField:
    return models.CharField(max_length=50, **options)


def key(to, **options) -> models.ForeignKey:
    return models.ForeignKey(to, models.CASCADE, related_name="+", **options)


def info_of(model, owner="", **options):
    return describe(model, names_of("thing"), owner, **options)


def written(model, owner="", **options) -> str:
    return ToolsWriter(info_of(model, owner, **options)).write()


def settable(model, owner="", **options) -> list[str]:
    return [item.name for item in info_of(model, owner, **options).editable]


# --- Secrets

SECRET_NAMES = words(
    "bearer jwt recovery_codes mfa_recovery magic_link invite_code reset_link dsn connection_string card_number cvv2 "
    "pem session_data password_hash api_token totp_seed auth_code webhook_url otp tls_key cvc pin session_key"
)
HARMLESS_NAMES = words(
    "title code country_code discount_code link website_url keyword monkey author status product_code pinned email "
    "username opinion panel shipping_code url description redirect_uri tangible compass"
)


def spellings(name: str) -> list[str]:
    first, *others = name.split("_")
    camel = first + "".join(word.title() for word in others)
    stripe = f"stripe{camel[0].upper()}{camel[1:]}"
    return [name, camel, name.upper(), f"customer_{name}", f"{name}_old", f"{name}2", stripe]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_secret_names_in_any_spelling(name):
    assert [one for one in spellings(name) if not is_secret_name(one)] == []
    assert [one for one in HARMLESS_NAMES if is_secret_name(one)] == []


@pytest.mark.parametrize(
    "place",
    words(
        "Grant.code DeviceGrant.user_code Invitation.link Authenticator.data PhoneVerification.code CreditCard.number "
        "AccessToken.value PasswordReset.url"
    ),
)
def test_model_makes_a_harmless_name_a_secret(place):
    name, field = place.split(".")
    secret = model(name, **{field: text(), "note": text()}, user=key(User))
    assert [item.name for item in info_of(secret, "user").shown] == ["note"]
    harmless = model("Product", **{field: text(), "note": text()}, user=key(User))
    assert field == "user_code" or len(info_of(harmless, "user").shown) == 2


def test_copies_of_other_rows_may_hold_their_keys():
    about = {"content_type": key(ContentType), "object_id": text(), "object_repr": text(), "action": text()}
    entry = model("LogEntry", **about, change_message=text())
    assert [item.name for item in info_of(entry).shown] == ["content_type", "action"]


SECRET_KEYS = {
    "named": lambda: model("Token", key=text(primary_key=True), user=key(User)),
    "digest": lambda: model("Ticket", digest=text(primary_key=True), user=key(User)),
    "model": lambda: model("APIKey", id=text(primary_key=True), user=key(User)),
    "uuid": lambda: model("AccessToken", id=models.UUIDField(primary_key=True), user=key(User)),
    "relation": lambda: model(
        "Use", token=models.OneToOneField(SECRET_KEYS["digest"](), models.CASCADE, primary_key=True), user=key(User)
    ),
    "composite": lambda: model(
        "Pair", pk=models.CompositePrimaryKey("day", "otp"), day=models.DateField(), otp=text(), user=key(User)
    ),
}


@pytest.mark.parametrize("name", SECRET_KEYS)
def test_model_whose_key_is_a_secret_is_refused(name):
    if name == "composite" and not hasattr(models, "CompositePrimaryKey"):
        pytest.skip("Django has no composite keys.")
    secret = SECRET_KEYS[name]()
    reason = f"^users.{secret.__name__} can't have tools: its rows are identified by a secr"
    for owner in ("", "user"):
        with pytest.raises(Refused, match=reason):
            info_of(secret, owner)
    assert has_secret_key(Session)  # Django's own


def test_reference_to_a_row_with_a_secret_key_is_not_shown():
    token = model("Token", key=text(primary_key=True))
    code = model("Coupon", voucher=text(), pin_code=text(unique=True))
    references = {
        "used": key(token),
        "many": models.ManyToManyField(token, related_name="+"),
        "by_column": key(code, to_field="pin_code"),
        "by_id": key(code),
    }
    info = info_of(model("Call", note=text(), **references, user=key(User)))
    assert [item.name for item in [*info.shown, *info.details]] == ["by_id", "note", "user"]


# --- Whose rows may be chosen


def test_relation_to_the_same_model_follows_the_owner():
    order = model("Order", approved_by=key(User), parent=key("self", null=True, blank=True), customer=key(User))
    for owner in ("customer", "approved_by"):
        info = info_of(order, owner)
        assert info.choosable["parent"] == owner
        assert f"Order.objects.filter({owner}=ctx.deps.user)" in written(order, owner)
    assert "parent" in settable(order, "customer")

    editors = models.ManyToManyField(User, related_name="+")
    shared = model("Page", friends=models.ManyToManyField("self"), editors=editors, author=key(User))
    assert info_of(shared, "editors").choosable["friends"] == "editors"
    assert "editors=ctx.deps.user).distinct()" in written(shared, "editors")


def parcels() -> dict[str, type[models.Model]]:
    """Models whose rows may be somebody's in ways that their shortest path to a user doesn't tell."""
    customer = model("Customer", user=models.OneToOneField(User, models.CASCADE, related_name="+"), name=text())
    order = model("Order", customer=key(customer), approved_by=key(User))
    about = {"content_type": key(ContentType), "object_id": models.IntegerField(), "about": GenericForeignKey()}
    return {
        "packed by staff": model("Parcel", order=key(order), packed_by=key(User), name=text()),
        "members": model("Project", members=models.ManyToManyField(User, related_name="+"), name=text()),
        "a profile of somebody": model("Deed", approver_profile=key(customer), name=text()),
        "two ways": model("Loan", lender=key(User), borrower=key(User), name=text()),
        "anything": model("Note", **about, name=text()),
    }


@pytest.mark.parametrize("name", ["packed by staff", "members", "a profile of somebody", "two ways", "anything"])
def test_rows_whose_owner_is_not_sure_are_not_chosen_and_not_named(name):
    related = parcels()[name]
    claim = model("Claim", thing=key(related), note=text(), user=key(User))
    info = info_of(claim, "user")
    assert settable(claim, "user") == ["note"]
    assert [item.shown for item in info.shown] == ["thing", "note"]
    label = related._meta.label
    assert f"run agentify {label} with its --owner first" in info.not_set["thing"]
    assert "No tool creates" in written(claim, "user").replace("\n", " ")
    with pytest.raises(Refused, match=f"Claim.thing can't be set: run agentify {label} with"):
        info_of(claim, "user", settable=["thing"])
    known = {label: "user" if name == "anything" else "pk"}
    assert info_of(claim, "user", owners=known).choosable["thing"] == known[label]


def test_rows_of_nobody_and_of_the_owner_are_chosen():
    customer = model("Customer", user=key(User), name=text())
    product = model("Product", name=text())
    order = model("Order", customer=key(customer), product=key(product), invoice=key(customer), helper=key(User))
    info = info_of(order, "customer__user", settable=["product", "invoice", "helper"])
    assert info.choosable == {"customer": "user", "product": "", "invoice": "user", "helper": "pk"}
    assert [item.shown for item in info.shown] == ["customer.name", "product.name", "invoice", "helper"]


# --- What may be set

PRIVILEGES = words(
    "is_staff is_superuser is_approved approved approved_at sms_limit limits max_quota throttling_failure_count role "
    "is_verified email_verified user_permissions groups is_admin"
)
DECIDED = words(
    "total is_refunded internal_notes status balance price paid_at credit plan points expires created level"
)


def accounts(**more) -> type[models.Model]:
    flags = {name: models.BooleanField(default=False) for name in PRIVILEGES}
    texts = {name: text(blank=True) for name in DECIDED}
    return model(
        "Account", **flags, **texts, bio=text(blank=True), born=models.DateField(null=True), user=key(User), **more
    )


@pytest.mark.parametrize(
    "name", ["EmailAddress", "SocialAccount", "AccessToken", "LoginHistory", "TOTPDevice", "AuditLog", "DeviceGrant"]
)
def test_owner_does_not_write_what_they_are_known_by_nor_what_has_happened(name):
    fields = {one: text() for one in ("email", "provider", "uid", "username", "phone_number", "redirect_uri")}
    known_by = model(name, **fields, user=key(User))
    assert settable(known_by, "user") == []
    if name not in ("EmailAddress", "SocialAccount"):
        assert settable(model(f"Own{name}", note=text(), user=key(User)), "user") == []


@pytest.fixture
def registered(monkeypatch):
    """Let staff edit a model in the admin."""

    def register(model, **attributes):
        model_admin = type("ThingAdmin", (admin.ModelAdmin,), attributes)(model, admin.site)
        monkeypatch.setitem(admin.site._registry, model, model_admin)

    return register


@pytest.fixture
def own_forms(monkeypatch):
    """Give the app of a model forms of these fields."""

    def give(model, *field_lists, **attributes):
        own = []
        for index, fields in enumerate(field_lists):
            meta = type("Meta", (), {"model": model, "fields": fields})
            own.append(type(ModelForm)(f"Form{index}", (ModelForm,), {"Meta": meta, **attributes}))
        monkeypatch.setattr(forms, "_forms_of", lambda _: own)

    return give


def test_numbers_flags_and_choices_are_decided_by_others():
    thing = model(
        "Thing",
        size=models.IntegerField(default=0),
        fee=models.DecimalField(max_digits=5, decimal_places=2, default=0),
        hot=models.BooleanField(default=False),
        shape=text(choices=[("a", "A")], default="a"),
        facts=models.JSONField(default=dict),
        plan=key(model("Plan", name=text()), null=True),
        wheel=key(model("Wheel", name=text()), null=True),
        user=key(User),
    )
    assert settable(thing, "user") == ["wheel"]
    assert settable(thing) == ["size", "fee", "hot", "shape", "facts", "plan", "wheel", "user"]


def test_privileges_are_set_by_nobody_unless_they_are_named(registered, own_forms, monkeypatch):
    for login, others in [("username", "first_name last_name"), ("first_name", "username last_name")]:
        monkeypatch.setattr(User, "USERNAME_FIELD", login)
        assert set(settable(User)) == set(words(others))
        assert set(settable(User, "pk")) == set(words(others)) - {"username"}  # Users do not unlock themselves
    account = accounts(teams=models.ManyToManyField(Group, related_name="+"), rights=models.ManyToManyField(Permission))
    hidden = {*PRIVILEGES, "teams", "rights"}
    registered(account)
    own_forms(account, "__all__")
    for owner in ("", "user"):
        assert not hidden & set(settable(account, owner))
        assert set(info_of(account, owner).not_set) >= hidden
        assert settable(account, owner, settable=["is_staff", "bio"]) == ["is_staff", "bio"]


def test_owner_sets_what_all_forms_of_the_app_have_and_not_what_the_admin_has(registered, own_forms):
    account = accounts()
    registered(account)
    assert settable(account, "user") == ["bio", "born"]
    own_forms(account, ["bio", "status", "plan"], ["status", "bio"])
    assert settable(account, "user") == ["status", "bio"]
    assert "`Form0 and Form1` decides" in written(account, "user").replace("\n", " ")
    own_forms(account, ["bio", "status"], bio=ModelForm.base_fields.get("bio") or text().formfield(disabled=True))
    assert settable(account, "user") == ["status"]


def readonly_per_person(model_admin, request, obj=None):
    """Fields that depend on who asks, and on whether the row is there."""
    fixed = ["status"] if obj else []
    return fixed if request.user.is_superuser else [*fixed, "price"]


def demanding(model_admin, request, obj=None):
    raise LookupError(request.session["tenant"])


@pytest.mark.parametrize(
    ("attributes", "creatable", "changeable"),
    [
        ({"fields": ["bio", ("status", "price")]}, "status price bio", "status price bio"),
        ({"fieldsets": [("", {"fields": ["bio"]}), ("More", {"fields": [("total",)]})]}, "total bio", "total bio"),
        ({"fields": ["bio", "total"], "readonly_fields": ["total"]}, "bio", "bio"),
        ({"exclude": [*DECIDED, "user"]}, "bio born", "bio born"),
        ({"fields": ["status", "price", "bio"], "get_readonly_fields": readonly_per_person}, "status bio", "bio"),
        ({"get_fieldsets": demanding}, "", ""),
    ],
)
def test_staff_set_what_the_admin_lets_them(registered, attributes, creatable, changeable):
    account = accounts()
    registered(account, **attributes)
    fields = info_of(account).fields
    assert [item.name for item in fields if item.creatable] == creatable.split()
    assert [item.name for item in fields if item.changeable] == changeable.split()


def test_what_the_admin_forbids_is_no_tool(registered):
    account = accounts()
    forbidden = [f"has_{action}_permission" for action in ("add", "change", "delete")]
    registered(account, **dict.fromkeys(forbidden, lambda *_: False))
    assert not re.search("^def (create|change|delete)_", written(account), re.M)
    assert not re.search("(create|delete)_thing", write_tests(info_of(account)))
    registered(account, fields=["bio", "total"])  # The owner sees no more than it shows
    assert [item.name for item in info_of(account, "user").shown] == ["total", "bio"]


def test_fields_that_no_tool_sets_are_listed_without_the_secrets():
    source = written(accounts(api_token=text()), "user")
    comment = " ".join(line.removeprefix("# ") for line in source.splitlines() if line.startswith("# "))
    assert {*PRIVILEGES, *DECIDED} <= set(comment.replace(",", " ").replace(".", " ").split())
    assert "api_token" not in source


@pytest.mark.parametrize("name", ["user", "api_token", "nothing", "id", "made"])
def test_named_field_that_can_not_be_set_is_refused(name):
    account = accounts(api_token=text(), made=models.DateTimeField(auto_now_add=True))
    with pytest.raises(Refused, match=f"Account.{name} can't be set: it is no field"):
        info_of(account, "user", settable=["bio", name])


# --- Methods


class Shop:
    def ship(self):
        """Ship it."""

    def cancel(self, reason=""):
        pass

    def refund(self, amount): ...

    async def arrive(self): ...

    @property
    def price(self): ...

    @classmethod
    def purge(cls): ...

    get_total = is_paid = reset_password = cancel


NO_ACTIONS = "refund get_total is_paid reset_password arrive price purge delete save full_clean nothing user objects"


def test_methods_are_tools_only_if_they_are_named():
    methods = {name: value for name, value in vars(Shop).items() if not name.startswith("__")}
    shop = model("Shop", **methods, user=key(User))
    assert info_of(shop).actions == {}
    assert info_of(shop, methods=["ship", "cancel"]).actions == {"ship": "Ship it.", "cancel": ""}
    assert "row.cancel, SHOWN" in written(shop, methods=["cancel"])
    for name in words(NO_ACTIONS):
        with pytest.raises(Refused, match=rf"^Shop\.{name} can't be a tool: [^.]+\.$"):
            info_of(shop, methods=[name])


# --- What is written


@pytest.mark.parametrize("name", ["user", "or_skip", "order"])
def test_modules_say_nothing_twice(name):
    thing = model("Thing", tz=text(), note=text(help_text="What the customer has said"), user=key(User))
    source = written(thing, "user")
    assert "Tz" not in source
    assert "note: What the customer has said." in source
    body = ast.parse(write_tests(describe(thing, names_of(name), "user"))).body
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    names += [alias.name for node in body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert len(names) == len(set(names))
