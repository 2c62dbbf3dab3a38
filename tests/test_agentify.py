"""`manage.py agentify` in a project with a small shop: what it writes passes the project's checks, and stays yours."""

import re
from pathlib import Path

import pytest
from projects import program, replace, tree

pytestmark = pytest.mark.engine
TOOLS = "assistant/tools_order.py"
SAID = "rental.log"
CLOSE = '        """Close the order."""\n'

MODELS = f'''\
"""What the shop sells, and to whom."""

from django.conf import settings
from django.db import models


class Customer(models.Model):
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.name


class Product(models.Model):
    title = models.CharField(max_length=50)
    price = models.DecimalField(max_digits=8, decimal_places=2)

    def __str__(self) -> str:
        return self.title


class Order(models.Model):
    class Status(models.TextChoices):
        OPEN = "open"
        CLOSED = "closed"

    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)
    product = models.ForeignKey(Product, on_delete=models.PROTECT)
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    note = models.TextField(blank=True)
    api_token = models.CharField(max_length=40, default="hunter2")
    created = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.note

    def last_visit(self) -> str:
        return "yesterday"

    def close(self) -> None:
{CLOSE}        self.status = self.Status.CLOSED
        self.save()


class Rental(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    extends = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL)
    title = models.CharField(max_length=200)
    is_refunded = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"rental {{self.pk}} of {{self.user}}"
'''
REGISTRY = "registry = ToolRegistry()\n"
OWN_TOOL = """

@tool(registry)
def create_rental(title: str) -> str:
    \"\"\"Rent something, in the project's own way.\"\"\"
    return title
"""

# Tests in the project: what its owner would try in the chat.
CHATS = """\
import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission

from agui.contrib.agentify.samples import make
from agui.testing import Chat, call, say
from shop.models import Order

pytestmark = pytest.mark.django_db(transaction=True)


def user_named(name):
    user = get_user_model().objects.create_user(name)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="shop"))
    return user


@pytest.fixture
def ada():
    return user_named("ada")


@pytest.fixture
def order(ada):
    return make(Order, "customer__user", ada)


@pytest.fixture
def foreign():
    return make(Order, "customer__user", user_named("bob"))


async def test_nothing_is_deleted_without_a_yes(ada, order):
    chat = Chat(ada, call("delete_order", order_id=order.pk), say("Done."))
    answer = await chat.send("Delete it")
    [interrupt] = answer.interrupts
    assert interrupt["message"].startswith(f"Delete order {order.pk}?\\n")
    assert interrupt["metadata"]["x-destructive"] is True
    assert "status: “open”" in interrupt["message"]
    assert "hunter2" not in str(answer.events) + str(chat.model.requests)
    assert await Order.objects.filter(pk=order.pk).aexists()
    await chat.deny()
    assert await Order.objects.filter(pk=order.pk).aexists()


async def test_an_approved_method_is_called(ada, order):
    chat = Chat(ada, call("close_order", order_id=order.pk), say("Done."))
    await chat.send("Close it")
    await order.arefresh_from_db()
    assert order.status == "open"
    await chat.approve()
    await order.arefresh_from_db()
    assert order.status == "closed"


async def test_an_approval_does_not_reach_a_foreign_row(ada, foreign):
    chat = Chat(ada, call("delete_order", order_id=foreign.pk), say("Done."))
    answer = await chat.send("Delete it")
    [interrupt] = answer.interrupts
    assert "There is no order" in interrupt["message"]
    assert "status" not in interrupt["message"]
    await chat.approve()
    assert await Order.objects.filter(pk=foreign.pk).aexists()
"""


def run(project: Path, *command: str | Path, status: int = 0, **settings: str) -> str:
    done = program(project, *command, status=status, **settings)
    return done.stdout + done.stderr


def agentify(project: Path, *arguments: str, status: int = 0) -> str:
    return run(project, "python", "manage.py", "agentify", *arguments, status=status)


def sources(project: Path) -> dict[str, bytes]:
    return {
        path: text
        for path, text in (tree(project / "assistant") | tree(project / ".agentify")).items()
        if "__pycache__" not in path
    }


def add_app(project: Path, name: str, models: str) -> None:
    for folder in (project / name, project / name / "migrations"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    (project / name / "models.py").write_text(models)
    replace(project / "config/settings.py", '    "users",\n', f'    "users",\n    "{name}",\n', count=1)


@pytest.fixture(scope="module")
def shop(bake_to_serve) -> Path:
    """A project with tools of two models: orders belong to users, and products to nobody."""
    project: Path = bake_to_serve("agentify", project_slug="shopping")
    add_app(project, "shop", MODELS)
    run(project, "python", "manage.py", "makemigrations", "shop")
    replace(project / "assistant/tools.py", REGISTRY, REGISTRY + OWN_TOOL)
    agentify(project, "shop.Order", "--owner", "customer__user", "--methods", "close")
    agentify(project, "shop.Product", "--owner", "")
    agentify(project, "users.User", "--owner", "pk")
    (project / SAID).write_text(agentify(project, "shop.Rental", "--owner", "user"))
    return project


def test_what_is_written_passes_the_checks(shop: Path):
    run(shop, "ruff", "check", "--no-cache", "assistant")
    run(shop, "ruff", "format", "--no-cache", "--check", "assistant")


@pytest.mark.nightly
def test_what_is_written_passes_its_tests_and_the_contract(shop: Path):
    (shop / "assistant/tests/test_chats.py").write_text(CHATS)
    names = ["order", "product", "shop_rental", "user"]
    tests = [f"assistant/tests/test_tools_{name}.py" for name in names]
    more = ["assistant/tests/test_chats.py", "assistant/tests/test_contract.py"]
    said = run(shop, "pytest", "-q", "-rs", *tests, *more)
    (shop / "assistant/tests/test_chats.py").unlink()
    assert "SKIPPED" not in said
    by_django = run(shop, "python", "manage.py", "test", *(f"assistant.tests.test_tools_{name}" for name in names))
    assert int(re.search(r"Ran (\d+) tests", by_django)[1]) > 20
    assert by_django.rstrip().endswith("OK") or "\nOK\n" in by_django


def test_name_of_an_own_tool_is_told(shop: Path):
    said = (shop / SAID).read_text()
    assert "The tools call the rows 'shop_rental', because the assistant has a tool 'create_rental' already." in said
    assert "No tool sets approved_by, is_refunded." in said


def test_tools_of_a_model(shop: Path):
    text = (shop / TOOLS).read_text()
    names = re.findall(r"^def (\w+)\(", text, re.MULTILINE)
    tools = ["list_orders", "read_order", "create_order", "change_order", "delete_order", "close_order"]
    assert names == ["orders_of", "customer_choices", "product_choices", *tools]
    assert "api_token" not in text


@pytest.mark.nightly
def test_language_model_is_tried_with_the_tools(shop: Path):
    said = run(shop, "python", "manage.py", "evaluate")
    assert re.search(r"^(\d+) of \1 cases passed", said, re.MULTILINE), said[-3000:]
    assert "lists the newest orders" in said


def test_second_run_changes_nothing(shop: Path):
    before = sources(shop)
    said = agentify(shop, "shop.Order")
    assert f"{TOOLS}: unchanged." in said
    assert sources(shop) == before


def test_path_that_leads_to_no_user_is_refused(shop: Path):
    before = sources(shop)
    said = agentify(shop, "shop.Order", "--owner", "product", status=1)
    assert "'product' leads to Product, not to User." in said
    assert sources(shop) == before


# --- These change the model, and leave it changed.


def test_changed_model_is_merged_and_an_edit_stays(shop: Path):
    replace(shop / TOOLS, "Delete an order for good.", "Delete an order, which nobody can undo.")
    field = "    rush = models.CharField(max_length=20, blank=True)\n"
    replace(shop / "shop/models.py", "    note = models.TextField", f"{field}    note = models.TextField")
    said = agentify(shop, "shop.Order")
    assert f"{TOOLS}: merged with your edits." in said
    text = (shop / TOOLS).read_text()
    assert "Delete an order, which nobody can undo." in text
    assert '"rush": rush' in text


def test_conflict_is_told_and_the_file_left_alone(shop: Path):
    replace(shop / TOOLS, '    """Close the order.', '    """Close the order, and thank the customer.')
    before = (shop / TOOLS).read_text()
    replace(shop / "shop/models.py", CLOSE, CLOSE.replace("Close", "End"))
    said = agentify(shop, "shop.Order", status=1)
    assert f"{TOOLS}: unchanged, because" in said
    assert f"in {TOOLS}.new." in said
    assert (shop / TOOLS).read_text() == before
    assert "End the order." in (shop / f"{TOOLS}.new").read_text()
