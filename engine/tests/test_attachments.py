# ruff: noqa: RUF001
"""Uploads: what they may be, and how they come back. (transcripts/attachments.yaml has whose they are.)"""

import contextlib
import errno
import json
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.core.files.uploadhandler import TemporaryFileUploadHandler
from django.db import IntegrityError, connections, transaction
from django.test import AsyncClient, AsyncRequestFactory

from agui.contrib.attachments.files import inspect, keep_upload
from agui.contrib.attachments.models import Attachment
from agui.contrib.attachments.views import AttachmentsView, AttachmentView, Chunks
from agui.errors import TooLarge
from tests.conftest import Client, body_of, files_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]

URL = "/agent/attachments/"
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 100


async def test_upload_answers_what_it_is(client, user, media):
    answer = await client.uploaded(PNG, "../../cat.png", "text/html")
    row = await Attachment.objects.aget()
    about = {"name": "cat.png", "mime": "image/png", "size": len(PNG)}
    assert answer == {"id": str(row.pk), "url": f"{URL}{row.pk}/", **about}
    assert (row.scope, row.owner_id) == (f"user:{user.pk}", user.pk)
    # The name on disk is not the user's.
    assert [path.name for path in files_in(media)] == [answer["id"]]
    response = await client.http.post(URL.rstrip("/"), {"file": SimpleUploadedFile("a.txt", b"x")})
    assert json.loads(response.content)["url"].startswith(URL)


async def test_download_is_the_same_bytes_as_a_private_attachment(client, opened):
    content = "Zeile — 1\n".encode() * 20_000
    answer = await client.uploaded(content, "nötiz.txt")
    response = await client.http.get(answer["url"])
    assert response.streaming
    assert await sync_to_async(lambda: connections["default"].connection)() is None
    assert await body_of(response) == content
    assert response["Content-Disposition"].startswith("attachment;")
    assert "n%C3%B6tiz.txt" in response["Content-Disposition"]
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Accel-Buffering"] == "yes"
    head = await client.http.head(answer["url"])
    assert (head.status_code, head.content) == (200, b"")
    for each in (response, head):
        assert (each["Content-Type"], each["Content-Length"]) == ("text/plain", str(len(content)))
        assert each["X-Content-Type-Options"] == "nosniff"
    # A response that no client reads leaves no file open.
    await sync_to_async((await client.http.get(answer["url"])).close)()
    assert [file.closed for file in opened[1:]] == [True, True]


async def test_download_is_read_in_pieces(media):
    default_storage.save("big", SimpleUploadedFile("big", b"x" * 300_000))
    chunks = Chunks(default_storage.open("big"))
    sizes = [len(chunk) async for chunk in chunks]
    chunks.close()
    assert max(sizes) <= 64 * 1024
    assert sum(sizes) == 300_000


@pytest.fixture
def opened(monkeypatch):
    """The files that were opened."""
    files, really_open = [], FileSystemStorage.open
    monkeypatch.setattr(FileSystemStorage, "open", lambda *args: files.append(really_open(*args)) or files[-1])
    return files


async def test_file_deleted_in_the_middle_of_its_download_arrives_whole(client, media):
    content = b"x" * 200_000
    answer = await client.uploaded(content)
    body = aiter(await client.http.get(answer["url"]))
    first = await anext(body)
    await client.http.delete(answer["url"])
    assert files_in(media) == []
    assert first + b"".join([chunk async for chunk in body]) == content


async def test_length_that_nobody_tells_is_no_reason_to_fail(user):
    request = AsyncRequestFactory().post(URL, {"file": SimpleUploadedFile("a.txt", b"x")})
    del request.META["CONTENT_LENGTH"]
    response = await AttachmentView(get_user=lambda request: user)(request, attachment_id=uuid4())
    assert response.status_code == 405
    response = await AttachmentsView(get_user=lambda request: user)(request)
    assert response.status_code == 400
    assert "Content-Length" in json.loads(response.content)["message"]


async def test_same_content_is_stored_once_per_owner(client, other_client, media):
    first = await client.uploaded(name="a.txt")
    second = await client.uploaded(name="b.txt")
    assert (first["id"] != second["id"], second["name"]) == (True, "b.txt")
    assert len(files_in(media)) == 1
    await other_client.uploaded()
    assert len(files_in(media)) == 2
    assert (await client.http.delete(first["url"])).status_code == 204
    assert (await client.http.get(first["url"])).status_code == 404
    assert await body_of(await client.http.get(second["url"])) == b"Hello"  # The twin stays whole
    await client.http.delete(second["url"])
    assert len(files_in(media)) == 1


async def test_files_go_with_a_queryset_and_with_their_user(client, user, other_client, media):
    await client.uploaded()
    await client.uploaded(name="twin.txt")
    await client.uploaded(PNG)
    await other_client.uploaded(b"Bye")
    await Attachment.objects.filter(media_type="image/png").adelete()
    assert sorted(path.read_bytes() for path in files_in(media)) == [b"Bye", b"Hello"]
    await user.adelete()
    assert [path.read_bytes() for path in files_in(media)] == [b"Bye"]
    assert await Attachment.objects.acount() == 1


async def test_file_stays_when_its_deletion_is_undone(client, media):
    answer = await client.uploaded()

    def delete_and_fail():
        with transaction.atomic():
            Attachment.objects.all().delete()
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await sync_to_async(delete_and_fail)()
    assert await body_of(await client.http.get(answer["url"])) == b"Hello"


async def test_a_storage_that_fails_for_one_file_keeps_no_other(client, media, monkeypatch, caplog):
    first, _ = await client.uploaded(), await client.uploaded(PNG)
    really_delete = FileSystemStorage.delete

    def delete(storage, name):
        if name.endswith(first["id"]):
            raise OSError("The disk is read-only.")
        really_delete(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", delete)
    await Attachment.objects.order_by("created_at").adelete()
    assert [path.name for path in files_in(media)] == [first["id"]]
    assert "The disk is read-only." in caplog.text


class FullUpload(TemporaryFileUploadHandler):
    """The folder for what comes in has no room left."""

    def receive_data_chunk(self, raw_data, start):
        self.file.close()
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_a_full_disk_has_a_code_of_its_own(client, settings, media, caplog):
    settings.FILE_UPLOAD_HANDLERS = [f"{__name__}.FullUpload"]
    response = await client.upload()
    assert response.status_code == 507
    message = "The server has no room for this now."
    assert json.loads(response.content) == {"error": "storage_full", "message": message}
    assert "No space left on device" in caplog.text
    assert await Attachment.objects.acount() == 0
    assert not files_in(media)


async def test_upload_shares_no_file_that_is_just_being_deleted(client, monkeypatch):
    first = await client.uploaded()

    def delete():
        Attachment.objects.filter(pk=first["id"]).delete()
        connections.close_all()

    deletion = threading.Thread(target=delete)

    def found(storage, name):
        # The owner deletes it at the very moment in which it was found. It is locked then: the deletion waits, and this
        # pause only lets one that would not wait come first.
        deletion.start()
        deletion.join(timeout=0.2)
        return True

    monkeypatch.setattr(FileSystemStorage, "exists", found)
    second = await client.uploaded()
    await sync_to_async(deletion.join)()
    assert await body_of(await client.http.get(second["url"])) == b"Hello"


def test_upload_of_a_user_who_is_just_being_deleted_leaves_no_file(user, media):
    actor = SimpleNamespace(user=user, scope=f"user:{user.pk}")
    type(user).objects.filter(pk=user.pk).delete()
    with pytest.raises(IntegrityError):
        keep_upload(SimpleUploadedFile("a.txt", b"Hello"), actor)
    assert files_in(media) == []


@pytest.mark.usefixtures("little_room")
async def test_upload_that_finds_no_room_on_the_disk_leaves_nothing_of_it(client, media):
    response = await client.upload(b"x" * 9 * 2**20)
    assert response.status_code == 507
    assert files_in(media) == []
    assert (await client.upload()).status_code == 201


@pytest.fixture
def little_room(settings):
    """No file can grow past this."""
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10 * 2**20
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * 2**20, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


async def test_upload_heals_a_lost_file(client, media):
    first = await client.uploaded()
    files_in(media)[0].unlink()
    assert (await client.http.get(first["url"])).status_code == 404
    second = await client.uploaded()
    assert await body_of(await client.http.get(second["url"])) == b"Hello"


def test_uploads_at_once_have_no_more_room_than_one_after_the_other(user, settings, monkeypatch):
    settings.AGUI = {"ATTACHMENTS": {"MAX_TOTAL_BYTES": 10}}
    actor, both = SimpleNamespace(user=user, scope=f"user:{user.pk}"), threading.Barrier(2, timeout=60)
    really_save = FileSystemStorage.save

    def save(*args, **kwargs):
        both.wait()
        return really_save(*args, **kwargs)

    monkeypatch.setattr(FileSystemStorage, "save", save)

    def keep(content):
        with contextlib.suppress(TooLarge):
            keep_upload(SimpleUploadedFile("a.txt", content), actor)
        connections.close_all()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(keep, [b"x" * 6, b"y" * 6]))
    assert Attachment.objects.count() <= 1


async def test_much_too_large_body_is_refused_before_it_is_parsed(client, browser, settings):
    settings.AGUI = {"ATTACHMENTS": {"MAX_BYTES": 10}}
    settings.FILE_UPLOAD_HANDLERS = ["tests.test_attachments.no_handler"]
    for one in (client, browser):
        assert (await one.upload(b"x" * 100_000)).status_code == 413


def no_handler(request):
    raise AssertionError("The body was parsed.")


@pytest.mark.parametrize("content", [b"\x7fELF\x01", b"a\x00b", b"\xff\xfe", "ж".encode()[:1], b"<x>\xc3"])
async def test_content_that_is_nothing_accepted_is_refused(client, content):
    response = await client.upload(content, "a.png", "image/png")
    answer = json.loads(response.content)
    assert (response.status_code, answer["error"], "text/plain" in answer["accepted"]) == (415, "unknown_kind", True)
    assert answer["message"].startswith(
        "This kind of file can't be read. You can send: PNG, JPEG, GIF, WebP, PDF, texts, DOCX,"
    )


async def test_text_whose_letters_are_not_sure_is_refused_with_what_to_do(client, settings):
    response = await client.upload("franču, sesijas dati".encode("cp1257"), "a.txt")
    answer = json.loads(response.content)
    assert (response.status_code, answer["error"], "UTF-8" in answer["message"]) == (415, "unknown_encoding", True)
    settings.AGUI = {"ATTACHMENTS": {"TYPES": ["text/plain"]}}
    assert (await client.upload(PNG)).status_code == 415


async def test_body_that_is_no_form_with_one_file_is_refused(client):
    file, twin = SimpleUploadedFile("a", b"x"), SimpleUploadedFile("b", b"y")
    for data, status in [({}, 400), ({"file": "text"}, 400), ({"other": file}, 400), ({"file": [file, twin]}, 400)]:
        assert (await client.http.post(URL, data)).status_code == status, data
    assert (await client.upload(b"")).status_code == 400
    assert (await client.http.post(URL, "{}", content_type="application/json")).status_code == 415
    assert (await client.http.post(URL, b"--x", content_type="multipart/form-data")).status_code == 400


@pytest.fixture
def browser(user):
    """A session: a CSRF token of its page has to come with an upload."""
    browser = Client(user)
    browser.http = AsyncClient(enforce_csrf_checks=True)
    browser.http.force_login(user)
    browser.http.cookies["csrftoken"] = "a" * 32
    return browser


async def test_browser_uploads_with_the_csrf_token_in_the_header(browser, media):
    assert (await browser.upload()).status_code == 403
    assert files_in(media) == []
    token = {"X-CSRFToken": "a" * 32}
    assert (await browser.upload(**token)).status_code == 201
    # The check of the token has read the form, and a name is the same nevertheless.
    assert await upload_as(browser, "👩\u200d👧 %22a%22.txt".encode(), **token) == '👩\u200d👧 "a".txt'


def on_disk(content):
    """An upload as Django hands over large ones: it comes in chunks."""
    upload = TemporaryUploadedFile("a", "text/plain", len(content), None)
    upload.write(content)
    return upload


PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"
BEFORE_PDF = [b"", b"\n", b"\r\n \t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n", b"\0\0", b"\x1b%-12345X@PJL\n", b"x" * 900]


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        *((before + PDF + b"\n" * 500, "application/pdf") for before in BEFORE_PDF),
        (b"See %PDF-1.4.", "text/plain"),
        (b"A file\n%PDF-1.7\nis one.", "text/plain"),
        (b"x" * 2000 + b"%PDF-1.4\n%%EOF", "text/plain"),
        (b"x" * (64 * 1024 - 1) + "ж".encode(), "text/plain"),  # A character in two chunks
        (b"<script>alert(1)</script>", "text/plain"),
        (PNG + b"\x00" * 200_000, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"GIF8", "text/plain"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"RIFF....WAVE", "text/plain"),
    ],
)
def test_kind_is_told_by_all_of_the_content(content, media_type):
    with on_disk(content) as upload:
        assert inspect(upload).media_type == media_type


def test_binary_tail_is_no_text():
    with on_disk(b"x" * 100_000 + b"\xff\x01") as upload:
        assert inspect(upload).encoding == ""


async def upload_as(client, filename: bytes, **headers):
    """Post a form as browsers write it, byte by byte."""
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + filename + b'"\r\n'
    body = head + b"Content-Type: text/plain\r\n\r\nHello\r\n--x--\r\n"
    response = await client.http.post(URL, body, content_type="multipart/form-data; boundary=x", headers=headers)
    return json.loads(response.content)["name"]


NAMES = {
    "👩\u200d👩\u200d👧 trip.txt": "👩\u200d👩\u200d👧 trip.txt",
    "the %22best%22 one.txt": 'the "best" one.txt',
    "می\u200cخواهم.csv": "می\u200cخواهم.csv",
    "🏴\U000e0067\U000e0062\U000e007f.txt": "🏴\U000e0067\U000e0062\U000e007f.txt",
    "100%25.txt": "100%25.txt",
    "evil\u202etxt.exe": "eviltxt.exe",
    "line%0Abreak\x00.txt": "line break.txt",
    "a%0D%0ASet-Cookie: b\x1b\x85.txt": "a Set-Cookie: b.txt",
    "..%22": '.."',
    "C:\\folder\\a.txt": "a.txt",
    "../../b%22.txt": 'b".txt',
}


@pytest.mark.parametrize(("sent", "kept"), NAMES.items(), ids=range(len(NAMES)))
async def test_name_comes_back_as_it_was(client, sent, kept):
    assert await upload_as(client, sent.encode()) == kept
