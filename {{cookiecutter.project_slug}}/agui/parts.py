"""Parts: what a project can do without, each a Django app on this one class.

Your own parts use it, too.

    class WeatherConfig(Part):
        name = "weather"

        def toolsets(self, taken):
            return [weather_toolset]

The core finds the parts in INSTALLED_APPS and calls their methods, part after part in that order.
It never names one. What a part raises is raised where it was called, so a mistake in a part is not
overlooked.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.db.models.fields.files import FieldFile
    from django.utils.safestring import SafeString
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.toolsets import AbstractToolset
    from pydantic_ai.usage import RunUsage

    from agui.actor import Actor
    from agui.conf_sections import Section
    from agui.deps import AgentDeps
    from agui.models import Thread


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended, as a part is told of it."""

    key: str
    """The primary key of its row."""
    scope: str
    owner_id: Any
    """The primary key of its user; None for an anonymous visitor."""
    thread_id: str
    model: str
    """The name of the model that was asked for."""
    status: str
    usage: "RunUsage"
    messages: "list[ModelMessage]"
    """What it has added to the thread. Of a run whose process died, this is its last draft."""
    is_deleted: bool = False
    """Whether it was deleted with its thread while it was on: it has no row any more."""


@dataclass(frozen=True)
class Addition:
    """Something that belongs to an answer: clients get it as a CUSTOM event, and find it in the message's metadata."""

    name: str
    """Of the event, and of the metadata, as "follow_ups"."""
    field: str
    """What the value is called in the event, beside `messageId`, as "suggestions"."""
    value: Any


@dataclass(frozen=True)
class NamedFile:
    """A file that a message names."""

    name: str
    about: str
    """What it is, or that it is gone."""
    page: str = ""
    """The address of its page in the admin, if it has one."""


@dataclass(frozen=True)
class PersonalData:
    """Rows that a part keeps of one owner."""

    name: str
    """Under which name the document has them, as "attachments"."""
    rows: "QuerySet[Any]"
    """In the order of the document."""
    hidden: Collection[str] = ()
    """Fields that are nobody's business but ours: keys, digests."""

    def extra(self, row: Any) -> dict[str, Any]:
        """Tell more of a row than its fields do."""
        return {}

    def file(self, row: Any) -> "tuple[str, FieldFile] | None":
        """A row's file, if it has one, and its owner's name for it: the export can copy it."""
        return None


@dataclass(frozen=True)
class Outdated:
    """Rows that a part keeps no longer."""

    name: str
    """What they are, as the command tells: "spending"."""
    rows: "QuerySet[Any]"
    batch: int = 200
    """How many are deleted at once. What can't be deleted stops no other batch."""

    def delete(self, pks: list[Any]) -> int:
        """Delete a batch. Not what is needed again by now."""
        _, deleted = self.rows.filter(pk__in=pks).delete()
        return deleted.get(self.rows.model._meta.label, 0)


class Part(AppConfig):
    """A part of the engine: an app in INSTALLED_APPS whose AppConfig is a Part. By default each method does nothing."""

    default = False  # Django would take it for the AppConfig of each module that imports it

    settings: ClassVar["type[Section] | None"] = None
    """The part's section of the AGUI dictionary. Its key is the last word of the app's name: `AGUI["WEATHER"]`."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Other parts that this one can't do without, as they stand in INSTALLED_APPS."""

    def __init_subclass__(cls) -> None:
        cls.default = True

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2].upper()

    # --- When a process starts, and when it ends

    def prepare(self) -> None:
        """Import what only requests need, before a server answers the first. Raises ImproperlyConfigured."""

    async def shutdown(self) -> None:
        """Let go of what the part holds: the server is about to end, and its runs have ended."""

    # --- What is added to each agent

    def routes(self) -> dict[str, tuple[str, str]]:
        """Routes under the agent's prefix, by name: the route, and the dotted path of a subclass of AgentView."""
        return {}

    def toolsets(self, taken: Collection[str]) -> "list[AbstractToolset[AgentDeps]]":
        """Tools for each agent. `taken` are the names of tools that exist already: those win."""
        return []

    def page_attributes(self) -> dict[str, Any]:
        """Attributes of `<agui-chat>` on the pages of this project; None is an attribute without a value."""
        return {}

    def client_capabilities(self) -> dict[str, Any]:
        """What clients find under `custom` in an agent's capabilities."""
        return {}

    # --- What is said

    async def messages_arrived(
        self, new: "list[ModelMessage]", thread_id: str, actor: "Actor"
    ) -> Callable[[], None] | None:
        """Annotate new messages of a client before they are stored (stores/annotations.py).

        What is returned is called in the transaction that stores them, and not on the event loop.
        """
        return None

    def show(self, messages: "list[ModelMessage]") -> "list[ModelMessage]":
        """Change what the model reads of a thread. The messages themselves stay as they are stored."""
        return messages

    def read_again(self, tool_name: str, identifier: str) -> str:
        """Say how the model sees a file again that a tool has given it, if the part knows: its bytes are not stored.

        `identifier` is that of the BinaryContent.
        """
        return ""

    # --- A run

    def request_context(self, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
        """What is entered while a request begins a run."""
        return nullcontext()

    def request_headers(self) -> dict[str, str]:
        """Headers with which another process can enter what `request_context` has entered here."""
        return {}

    def executes_runs(self) -> bool:
        """Whether `execute` is called for each run, instead of executing it in the process that was asked."""
        return False

    async def execute(self, log: Any, run_input: Any, turn: Any, path: str) -> None:
        """Leave a run, whose turn is stored, to another process.

        `log` is the run's RunLog, `run_input` an AG-UI RunAgentInput, `turn` a Turn
        (turns/turn.py), and `path` is where the endpoint is. What the other process needs is kept
        in `Run.order` until the run has ended.
        """
        raise NotImplementedError

    async def before_run(self, actor: "Actor") -> None:
        """Refuse what costs something: a run, a tool call over MCP. Raises HttpError."""

    def fill_deps(self, deps: "AgentDeps", messages: "list[ModelMessage]") -> None:
        """Complete what the tools of a run see as `ctx.deps`, by the messages that its model reads."""

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        """What is entered for as long as a run is at work. `run` is an ActiveRun (runs/record.py)."""
        return nullcontext()

    def capabilities(self, run: Any) -> "list[AbstractCapability[AgentDeps]]":
        """What a run has beside the agent's own capabilities. `run` is an ActiveRun (runs/record.py)."""
        return []

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        """Add to an answer that is complete, before it is stored. `run` is an ActiveRun (runs/record.py)."""
        return []

    def run_ended(self, run: EndedRun) -> None:
        """Note something of a run that has ended, in the transaction that notes its end.

        Not on the event loop.

        A run ends once, also if its process has died. Nothing is told of one whose user was deleted
        while it was on.
        """

    def models_used(self, actor: "Actor", model: str, usage: "RunUsage") -> None:
        """Note what was asked of models outside of a run, by a tool call over MCP. Not on the event loop."""

    # --- A thread, and all that is kept of somebody. None of it is called on the event loop

    def thread_details(self, thread_id: str, scope: str) -> dict[str, Any]:
        """What clients are told of a thread, beside its messages."""
        return {}

    def thread_forked(self, source_id: str, thread_id: str, scope: str) -> None:
        """Note that a thread was forked: it has messages that are its source's."""

    def thread_deleted(self, thread_id: str, scope: str) -> None:
        """Delete what the part keeps of a thread, in the transaction that deletes it."""

    def named_files(self, messages: "Sequence[ModelMessage]") -> "list[list[NamedFile]]":
        """Files that messages name, for the transcript in the admin: a list for each message, or none at all."""
        return []

    def admin_links(self, thread: "Thread") -> "list[SafeString]":
        """Links from a thread's page in the admin to what the part keeps of it."""
        return []

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        """What the part keeps of an owner, for the document of all that is kept of them."""
        return ()

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        """List what the part keeps no longer, for `manage.py prune_agent_data` to count or delete.

        It is asked before anything is deleted: what a part draws from runs and threads it draws
        now, unless this is a dry run. The rows are looked up after old runs and threads were
        deleted.
        """
        return ()


@contextmanager
def entered(contexts: Iterable[AbstractContextManager[Any]]) -> Iterator[None]:
    """Enter what parts want to be entered."""
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        yield


def installed() -> list[Part]:
    """List the parts of this project, in the order of INSTALLED_APPS."""
    return [config for config in apps.get_app_configs() if isinstance(config, Part)]


def executor() -> Part | None:
    """Return the part that executes runs; None if the process does it that was asked."""
    return next((part for part in installed() if part.executes_runs()), None)


async def check_run(actor: "Actor") -> None:
    """Ask all parts whether an actor may now cause costs. Raises HttpError."""
    for part in installed():
        await part.before_run(actor)
