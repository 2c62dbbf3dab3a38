"""Chat with an agent in the terminal, or from a script: see agui/manual/client.md."""

import logging
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import httpx2
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.text import Text

from agui.contrib.client import AGUIClient, AGUIError
from agui.contrib.terminal.in_process import InProcess, NoAgent, own_url
from agui.contrib.terminal.keyboard import Keyboard
from agui.contrib.terminal.local_tools import Folder, LocalTool
from agui.contrib.terminal.meanwhile import Meanwhile
from agui.contrib.terminal.message_queue import MessageQueue
from agui.contrib.terminal.output import JsonLines, Output, PlainText
from agui.contrib.terminal.prompt import Prompt
from agui.contrib.terminal.questions import Questions
from agui.contrib.terminal.screen import Screen
from agui.contrib.terminal.session import Ending, Session
from agui.http.tokens import create_token
from agui.models import ApiToken
from agui.namespaces import FIRST_AGENT

TOKEN_VARIABLE = "AGENT_TOKEN"  # noqa: S105


class Command(BaseCommand):
    help = "Chat with the project's own agent, or with the AG-UI endpoint at --url."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--user", metavar="NAME", help="The user for whom the agent acts [its only user]."
        )
        parser.add_argument("--url", help="Another agent: the address of its AG-UI endpoint.")
        parser.add_argument(
            "--token", help=f"An API token for --url [the variable {TOKEN_VARIABLE}]."
        )
        parser.add_argument(
            "--agent",
            metavar="NAME",
            default=FIRST_AGENT,
            help="The agent of the project, by the namespace of its routes [%(default)s].",
        )
        parser.add_argument("--thread", metavar="ID", help="Continue this conversation.")
        parser.add_argument(
            "--message",
            metavar="TEXT",
            help="Send this, print the answer and exit; - reads standard input.",
        )
        parser.add_argument(
            "--json", action="store_true", help="With --message: print the events, each as a line."
        )
        parser.add_argument(
            "--allow-read-file",
            metavar="DIR",
            type=Path,
            nargs="?",
            const=Path(),
            help="Let the agent list and read the files of a folder [this one]; hidden ones never.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["json"] and options["message"] is None:
            raise CommandError("--json needs --message.", returncode=2)
        tools = local_tools(options["allow_read_file"])
        if options["url"]:
            self.begin(remote(options["url"], options["token"]), tools, options)
            return
        token, client = own_agent(options["user"], options["agent"])
        # The server's log lines must not appear between the agent's words.
        logging.disable(logging.WARNING)
        try:
            self.begin(client, tools, options)
        finally:
            logging.disable(logging.NOTSET)
            token.delete()

    def begin(self, client: AGUIClient, tools: list[LocalTool], options: dict[str, Any]) -> None:
        try:
            if options["message"] is None:
                self.chat(client, tools, options["thread"])
            else:
                self.say(client, tools, **options)
        except KeyboardInterrupt:
            # This is the second one: the first has stopped the run.
            sys.exit(Ending.STOPPED.value)

    def chat(self, client: AGUIClient, tools: list[LocalTool], thread_id: str | None) -> None:
        screen = Screen(Console(highlight=False))
        keyboard = Keyboard()
        questions = Questions(screen, keyboard)
        queue = MessageQueue(client, [tool.declaration for tool in tools])
        meanwhile = Meanwhile(queue, screen, keyboard)
        with Session(client, screen, tools, questions=questions, meanwhile=meanwhile) as session:
            prompt = Prompt(session, screen, keyboard, meanwhile)
            if keyboard.is_person:
                welcome = "Ctrl-C stops an answer, Ctrl-D leaves, /help says more.\n"
                screen.print(Text(welcome, style="dim"))
            if thread_id:
                try:
                    prompt.open_thread(thread_id)
                except AGUIError as error:
                    raise CommandError(str(error), returncode=Ending.REFUSED.value) from None
            prompt.run()

    def say(
        self,
        client: AGUIClient,
        tools: list[LocalTool],
        message: str,
        thread: str | None,
        **options: Any,
    ) -> None:
        """Send one message, print the answer, and exit with the code of its ending."""
        text = sys.stdin.read() if message == "-" else message
        output: Output
        if options["json"]:
            output = JsonLines(sys.stdout, sys.stderr)
        elif sys.stdout.isatty():
            output = Screen(Console(highlight=False))
        else:
            output = PlainText(sys.stdout, sys.stderr)
        with Session(client, output, tools) as session:
            try:
                if thread:
                    session.open_thread(thread)
                ending = session.send(text)
            except AGUIError as error:
                output.fail(str(error))
                ending = Ending.REFUSED
            if ending is Ending.WAITING:
                thread_id = session.conversation.thread_id
                output.fail(f"It waits for an answer: manage.py chat --thread {thread_id}")
        if ending is not Ending.ANSWERED:
            sys.exit(ending.value)


def local_tools(folder: Path | None) -> list[LocalTool]:
    if folder is None:
        return []
    try:
        return Folder(folder).tools()
    except OSError as error:
        message = f"--allow-read-file {str(folder)!r}: {error.strerror}."
        raise CommandError(message, returncode=2) from None


def remote(url: str, token: str | None) -> AGUIClient:
    token = token or os.environ.get(TOKEN_VARIABLE)
    if not token:
        return AGUIClient(url)
    return AGUIClient(url, headers={"Authorization": f"Bearer {token}"})


def own_agent(username: str | None, agent: str) -> tuple[ApiToken, AGUIClient]:
    """Connect to an agent of the project in this process. The caller deletes the token later."""
    try:
        url = own_url(agent)
    except NoAgent as error:
        raise CommandError(str(error), returncode=2) from None
    token, text = create_token(find_user(username), "manage.py chat", days=1)
    http = httpx2.AsyncClient(transport=InProcess())
    return token, AGUIClient(url, headers={"Authorization": f"Bearer {text}"}, http=http)


def find_user(username: str | None) -> Any:
    users = get_user_model()._default_manager.filter(is_active=True)
    if username is not None:
        user = users.filter(**{get_user_model().USERNAME_FIELD: username}).first()
        if user is None:
            raise CommandError(f"There is no active user {username!r}.", returncode=2)
        return user
    active = list(users[:2])
    if len(active) == 1:
        return active[0]
    problem = "There is no user: create one with `python manage.py createsuperuser`."
    if active:
        problem = "There is more than one user: name one with --user."
    raise CommandError(f"For whom should the agent act? {problem}", returncode=2)
