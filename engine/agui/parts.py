"""Parts: the optional Django apps of the engine, and yours. Each one's AppConfig is a Part.

    class WeatherConfig(Part):
        name = "weather"
        def toolsets(self, taken):
            return [weather_toolset]

The core calls the methods of all parts in the order of INSTALLED_APPS. What they raise, it raises.
"""

from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

from django.apps import AppConfig, apps

from agui.part_values import Addition, EndedRun, NamedFile, Outdated, PersonalData

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.utils.safestring import SafeString
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import BinaryContent, ModelMessage
    from pydantic_ai.models import Model
    from pydantic_ai.toolsets import AbstractToolset
    from pydantic_ai.usage import RunUsage

    from agui.actor import Actor
    from agui.conf_sections import Section
    from agui.deps import AgentDeps
    from agui.models import AbstractConversation, Run


class Part(AppConfig):
    """The AppConfig of a part. By default its methods do nothing."""

    # Otherwise Django would take Part for the AppConfig of each module that imports it.
    default = False
    default_auto_field = "django.db.models.BigAutoField"  # As the engine's migrations have it.

    settings: ClassVar["type[Section] | None"] = None
    """The part's section of AGUI. Its key is the app's last word: `AGUI["WEATHER"]`."""

    takes_files: ClassVar[bool] = False
    """Whether messages may have files, which the part gives to models that can read them."""

    page_modules: ClassVar[Mapping[str, str]] = {}
    """The page's modules of the part: paths of static files, by what they are for.

    parts.md has an example, and PartModules in static/agui/types.d.ts what the modules export.
    """

    needs: ClassVar[tuple[str, ...]] = ()
    """The other parts that this one needs, as INSTALLED_APPS names them."""

    def __init_subclass__(cls) -> None:
        cls.default = True

    @property
    def key(self) -> str:
        return self.name.rpartition(".")[2].upper()

    # --- The start and the end of a process

    def prepare(self) -> None:
        """Import what requests need, before the first one. Raises ImproperlyConfigured."""

    def wrap_application(self, application: Any) -> Any:
        """Wrap Django's ASGI application. The agents have been built."""
        return application

    async def shutdown(self) -> None:
        """Close what the part holds. The runs have ended, and the server is about to end."""

    # --- Additions to each agent

    def model(self, name: str, notice: str) -> Any:
        """Return a pydantic-ai Model that AGENT_MODEL names. It says the notice first."""

    def routes(self) -> dict[str, tuple[str, str]]:
        """Return routes under the agent's prefix by name, and the dotted path of each AgentView."""
        return {}

    def toolsets(self, taken: Collection[str]) -> "list[AbstractToolset[AgentDeps]]":
        """Return tools for each agent. `taken` are names of existing tools, which win."""
        return []

    def page_attributes(self, agent: str) -> dict[str, Any]:
        """Return attributes of `<agui-chat>`: `reverse(f"{agent}:route")`, or None for no value."""
        return {}

    def personal_pages(self, agent: str) -> dict[str, Any]:
        """Return names of pages for a person who is signed in, by their addresses."""
        return {}

    def modules_of_page(self, agent: str) -> Mapping[str, str]:
        """Return those of `page_modules` that pages with an agent need."""
        return self.page_modules

    def client_capabilities(self) -> dict[str, Any]:
        """Return what clients find under `custom` in an agent's capabilities."""
        return {}

    # --- Messages

    async def messages_arrived(
        self, new: "list[ModelMessage]", thread_id: str, actor: "Actor"
    ) -> Callable[[], None] | None:
        """Annotate new messages of a client before they are stored (stores/annotations.py).

        The returned function is called in the transaction that stores them, off the event loop.
        """
        return None

    def prepare_history(self, messages: "list[ModelMessage]") -> "list[ModelMessage]":
        """Change what the model reads of a thread. The stored messages stay as they are."""
        return messages

    def read_again(self, tool_name: str, identifier: str) -> str:
        """Say how the model can read a file of a tool's result again, if the part knows.

        The bytes of such a file are not stored. `identifier` is that of its BinaryContent.
        """
        return ""

    # --- Files that models and tools make

    def keeps_file(self, run: Any, file: "BinaryContent", earlier: "BinaryContent | None") -> bool:
        """Tell whether the part keeps a file that the model makes. It is not stored yet.

        `earlier` is the sketch that it replaces, if there was one. If no part keeps the file, it
        becomes words. `run` is a ServedRun (agents/hooks.py).
        """
        return False

    async def files_made(
        self, run: Any, files: "Sequence[BinaryContent]", source: Any
    ) -> Sequence[Any]:
        """Keep files of a run's FilePart or ToolReturnPart. Returns events that show them."""
        return ()

    def file_id(self, run: Any, file: "BinaryContent") -> str:
        """Return the id by which a stored answer names a file; '' if the part does not keep it."""
        return ""

    # --- A run

    def request_context(self, headers: Mapping[str, str]) -> AbstractContextManager[Any]:
        """Return a context to enter while a request starts a run."""
        return nullcontext()

    def request_headers(self) -> dict[str, str]:
        """Return headers for another process, which gives them to its own `request_context`."""
        return {}

    def run_logs(self) -> Any:
        """Return RunLogs (runlog/memory.py) that other processes can read, or None."""

    def executes_runs(self) -> bool:
        """Whether this part executes runs, instead of the process that gets the request."""
        return False

    async def execute(self, log: Any, run_input: Any, turn: Any, path: str) -> None:
        """Hand a run, whose turn is stored, to another process.

        `log` is the run's RunLog, `turn` a Turn (turns/turn.py), and `path` that of the endpoint.
        """
        raise NotImplementedError

    def ordered_runs(self) -> "QuerySet[Run]":
        """Select the runs that were handed over and that this part still works on, or will."""
        raise NotImplementedError

    async def before_run(self, actor: "Actor") -> None:
        """Refuse a run or a tool call over MCP, which cost something. Raises HttpError."""

    def fill_deps(self, deps: "AgentDeps", messages: "list[ModelMessage]") -> None:
        """Complete the `ctx.deps` of a run, from the messages that its model reads."""

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        """Return a context to enter while a run works. `run` is an ActiveRun (runs/record.py)."""
        return nullcontext()

    def wrap_events(self, run: Any, events: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
        """Wrap the agent's events before the stages. `run` is an ActiveRun (runs/record.py)."""
        return events

    def wrap_model(self, model: "Model", run: Any) -> "Model":
        """Wrap the model of a run. `run` is a ServedRun (agents/hooks.py)."""
        return model

    def capabilities(self, run: Any) -> "list[AbstractCapability[AgentDeps]]":
        """Return capabilities for one run. `run` is an ActiveRun (runs/record.py)."""
        return []

    async def before_request(self, run: Any, ctx: Any, request: Any) -> None:
        """Act before each request of a run to its model, and before its good end.

        `run` is an ActiveRun (runs/record.py), `ctx` pydantic-ai's RunContext, and `request` the
        new ModelRequest; None before the end. `deliver` (runs/deliver.py) gives the model messages
        that the user has sent meanwhile. Before the end, they make the run go on.
        """

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        """Add to a complete answer, '' if it is no text. `run` is an ActiveRun (runs/record.py)."""
        return []

    def annotate_answer(self, run: Any, new: "list[ModelMessage]") -> None:
        """Annotate what a run has added, if anything, before it is stored."""

    def run_ended(self, run: EndedRun) -> None:
        """Record the end of a run, in the transaction that records it.

        This is called off the event loop, and once for each run, even if its process has died. It
        is not called for a run whose user was deleted meanwhile.
        """

    def end_read(self, log: Any) -> None:
        """Hear that a reader has read a RunLog to its end. The event loop calls it: don't wait."""

    def models_used(self, actor: "Actor", model: str, usage: "RunUsage") -> None:
        """Record a tool call's requests to models over MCP. This is called off the event loop."""

    # --- A thread, and all data of an owner. These methods are called off the event loop

    def thread_details(self, thread_id: str, scope: str) -> dict[str, Any]:
        """Return what clients read about a thread, beside its messages."""
        return {}

    def thread_forked(self, source_id: str, thread_id: str, scope: str) -> None:
        """Record that a thread was forked: it shares messages with its source."""

    def thread_deleted(self, thread_id: str, scope: str) -> None:
        """Delete the part's rows of a thread, in the transaction that deletes the thread."""

    def named_files(self, messages: "list[ModelMessage]") -> list[list[NamedFile]]:
        """Find files that messages name, for the admin: a list for each message, or none at all."""
        return []

    def admin_links(self, thread: "AbstractConversation") -> "list[SafeString]":
        """Return links from a thread's page in the admin to the part's rows of it."""
        return []

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        """Return the part's rows of an owner, for the document of all their data."""
        return ()

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        """List the rows that `manage.py prune_agent_data` should count or delete.

        They go after old runs and threads, which can still be read. A dry run must not write.
        """
        return ()


@contextmanager
def entered(contexts: Iterable[AbstractContextManager[Any]]) -> Iterator[None]:
    """Enter the contexts of all parts."""
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        yield


@cache
def installed() -> tuple[Part, ...]:
    """List the parts of this project, in the order of INSTALLED_APPS."""
    return tuple(config for config in apps.get_app_configs() if isinstance(config, Part))


@cache
def implementing(method: str) -> tuple[Part, ...]:
    """List the installed parts that have a method of their own."""
    default = getattr(Part, method)
    return tuple(part for part in installed() if getattr(type(part), method) is not default)


def take_files() -> bool:
    """Whether messages may have files."""
    return any(part.takes_files for part in installed())


def executor() -> Part | None:
    """Return the part that executes runs; None if the process itself executes its runs."""
    return next((part for part in installed() if part.executes_runs()), None)


async def check_run(actor: "Actor") -> None:
    """Ask all parts whether an actor may start a run now. Raises HttpError."""
    for part in installed():
        await part.before_run(actor)
