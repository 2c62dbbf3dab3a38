"""The search in the rows of ModelConversationStore: which threads have a word, and where."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import (
    Case,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Greatest, Length, StrIndex, Substr

from agui.models import Message, get_conversation_model
from agui.stores import codec
from agui.stores.summary import Match

Thread = get_conversation_model()

# A longer message is not read: it may have files in it, and a page has up to 100 matches.
MAX_DATA_CHARS = 250_000
PIECE_CHARS = 400


def contains(word: str, scope: str) -> Q:
    """Match the threads that have a word in their title or in one of their messages."""
    own, shared = _messages(Message.objects.filter(words__contains=word), scope)
    is_in_source = ~Q(forked_from="") & Q(Exists(shared))
    return Q(words__contains=word) | Q(Exists(own)) | is_in_source


def _messages(
    messages: QuerySet[Message], scope: str
) -> tuple[QuerySet[Message], QuerySet[Message]]:
    """Select those of the messages that the outer thread has, and that its source has for it."""
    # For `thread=OuterRef("pk")`, PostgreSQL may read the messages of all users at once.
    own = messages.filter(thread__gte=OuterRef("pk"), thread__lte=OuterRef("pk"))
    # Ids begin with the time, so the messages that a fork shares with its source have ids up to
    # that of the message at which it was forked.
    in_source = messages.filter(thread__scope=scope, thread__thread_id=OuterRef("forked_from"))
    return own, in_source.filter(id__lte=OuterRef("forked_at"))


def find_matches(thread_ids: Sequence[str], words: Sequence[str], scope: str) -> dict[str, Match]:
    """Find the first of each thread's messages with the most of the words, in two queries."""
    has_any = Q()
    count: Any = Value(0)
    for word in words:
        has_any |= Q(words__contains=word)
        count += Case(When(words__contains=word, then=1), default=0, output_field=IntegerField())
    ranked = Message.objects.filter(has_any).order_by(count.desc(), "id")
    own, shared = (part.values("id")[:1] for part in _messages(ranked, scope))
    first = Coalesce(Subquery(own), Subquery(shared))
    threads = Thread.objects.filter(scope=scope, thread_id__in=thread_ids).order_by()
    by_message: dict[str, list[str]] = {}  # Forks share messages.
    for thread_id, message_id in threads.values_list("thread_id", first):
        if message_id is not None:
            by_message.setdefault(message_id, []).append(thread_id)
    matches = {}
    for row in _read(list(by_message), words):
        for thread_id in by_message[row["id"]]:
            matches[thread_id] = _to_match(row)
    return matches


def _read(ids: Sequence[str], words: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    """Read messages; of a very long one only the piece around the first word that it has."""
    places = [When(words__contains=word, then=StrIndex("words", Value(word))) for word in words]
    place = Case(*places, default=Value(1), output_field=IntegerField())
    piece = Substr("words", Greatest(place - PIECE_CHARS // 2, Value(1)), PIECE_CHARS)
    is_long = Q(size__gt=MAX_DATA_CHARS)
    rows = Message.objects.filter(pk__in=ids).annotate(size=Length("data"))
    return rows.values(
        "id",
        "prompt_id",
        text=Case(When(is_long, then=Value("")), default=F("data"), output_field=TextField()),
        piece=Case(When(is_long, then=piece), default=Value(""), output_field=TextField()),
    )


def _to_match(row: Mapping[str, Any]) -> Match:
    if not row["text"]:
        return Match(None, row["prompt_id"], row["piece"])
    [message] = codec.load_messages([row["text"]])
    return Match(message)
