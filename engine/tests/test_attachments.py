# ruff: noqa: RUF001
"""Uploads: whose they are, what they may be, and how they come back."""

import asyncio
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

from agui.contrib.attachments.files import inspect, keep_upload, media_type_of
from agui.contrib.attachments.models import Attachment
from agui.contrib.attachments.views import AttachmentsView, AttachmentView, Chunks
from agui.errors import TooLarge
from tests.conftest import Client

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/agent/attachments/"
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 100


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    return settings.MEDIA_ROOT


def files_in(media):
    return [path for path in media.rglob("*") if path.is_file()]


async def upload(client, content=b"Hello", name="a.txt", content_type="text/plain", **headers):
    file = SimpleUploadedFile(name, content, content_type=content_type)
    return await client.http.post(URL, {"file": file}, headers=headers)


async def uploaded(client, *args, **kwargs):
    response = await upload(client, *args, **kwargs)
    assert response.status_code == 201, response.content
    return json.loads(response.content)


async def body_of(response):
    return b"".join([chunk async for chunk in response])


async def test_upload_answers_what_it_is(client, user):
    answer = await uploaded(client, PNG, "cat.png", "text/html")
    row = await Attachment.objects.aget()
    assert answer == {
        "id": str(row.pk),
        "name": "cat.png",
        "mime": "image/png",
        "size": len(PNG),
        "url": f"{URL}{row.pk}/",
    }
    assert (row.scope, row.owner_id) == (f"user:{user.pk}", user.pk)


async def test_route_without_last_slash_gives_a_working_url(client):
    response = await client.http.post(URL.rstrip("/"), {"file": SimpleUploadedFile("a.txt", b"x")})
    assert json.loads(response.content)["url"].startswith(URL)


async def test_download_is_the_same_bytes_as_a_private_attachment(client):
    content = "Zeile — 1\n".encode() * 20_000
    answer = await uploaded(client, content, "nötiz.txt")
    response = await client.http.get(answer["url"])
    assert response.streaming
    assert await body_of(response) == content
    assert response["Content-Type"] == "text/plain"
    assert response["Content-Length"] == str(len(content))
    assert response["Content-Disposition"].startswith("attachment;")
    assert "n%C3%B6tiz.txt" in response["Content-Disposition"]
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "private, no-store"
    assert response["X-Accel-Buffering"] == "yes"


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
    files = []
    monkeypatch.setattr(FileSystemStorage, "open", lambda *args: files.append(really_open(*args)) or files[-1])
    return files


really_open = FileSystemStorage.open


async def test_download_that_nobody_reads_leaves_nothing_open(client, opened):
    answer = await uploaded(client)
    response = await client.http.get(answer["url"])
    await sync_to_async(response.close)()
    assert [file.closed for file in opened] == [True]


async def test_download_holds_no_database_connection(client):
    answer = await uploaded(client)
    response = await client.http.get(answer["url"])
    assert await sync_to_async(lambda: connections["default"].connection)() is None
    assert await body_of(response) == b"Hello"


async def test_head_is_a_download_without_its_content(client, opened):
    answer = await uploaded(client, b"Hello")
    response = await client.http.head(answer["url"])
    assert (response.status_code, response.content) == (200, b"")
    assert (response["Content-Length"], response["Content-Type"]) == ("5", "text/plain")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert [file.closed for file in opened] == [True]


async def test_file_deleted_in_the_middle_of_its_download_arrives_whole(client, media):
    content = b"x" * 200_000
    answer = await uploaded(client, content)
    body = aiter(await client.http.get(answer["url"]))
    first = await anext(body)
    await client.http.delete(answer["url"])
    assert files_in(media) == []
    assert first + b"".join([chunk async for chunk in body]) == content


async def test_another_s_attachment_is_unknown(client, other_client):
    answer = await uploaded(client)
    assert (await other_client.http.get(answer["url"])).status_code == 404
    assert (await other_client.http.delete(answer["url"])).status_code == 404
    assert await body_of(await client.http.get(answer["url"])) == b"Hello"


async def test_unknown_attachment_is_404(client):
    assert (await client.http.get(f"{URL}{uuid4()}/")).status_code == 404


async def test_anonymous_is_refused():
    http = AsyncClient()
    assert (await http.post(URL, {"file": SimpleUploadedFile("a.txt", b"x")})).status_code == 401
    assert (await http.get(f"{URL}{uuid4()}/")).status_code == 401
    assert (await http.get(URL)).status_code == 401


@pytest.mark.parametrize(("method", "one", "allowed"), [("get", False, "POST"), ("post", True, "DELETE, GET, HEAD")])
async def test_wrong_method_is_405(client, method, one, allowed):
    response = await getattr(client.http, method)(f"{URL}{uuid4()}/" if one else URL)
    assert response.status_code == 405
    assert response["Allow"] == allowed


async def test_wrong_method_is_405_whatever_the_length(client):
    request = AsyncRequestFactory().post(f"{URL}{uuid4()}/")
    request.META.pop("CONTENT_LENGTH", None)
    response = await AttachmentView(get_user=lambda request: client.user)(request, attachment_id=uuid4())
    assert response.status_code == 405


async def test_delete_removes_row_and_file(client, media):
    answer = await uploaded(client)
    assert len(files_in(media)) == 1
    assert (await client.http.delete(answer["url"])).status_code == 204
    assert files_in(media) == []
    assert (await client.http.get(answer["url"])).status_code == 404


async def test_same_content_is_stored_once_per_owner(client, other_client, media):
    first = await uploaded(client, name="a.txt")
    second = await uploaded(client, name="b.txt")
    assert (first["id"] != second["id"], second["name"]) == (True, "b.txt")
    assert len(files_in(media)) == 1
    await uploaded(other_client)
    assert len(files_in(media)) == 2


async def test_delete_of_one_leaves_its_twin_whole(client, media):
    first, second = await uploaded(client), await uploaded(client)
    await client.http.delete(first["url"])
    assert await body_of(await client.http.get(second["url"])) == b"Hello"
    await client.http.delete(second["url"])
    assert files_in(media) == []


async def test_user_s_files_go_with_him(client, user, other_client, media):
    await uploaded(client)
    await uploaded(client, name="twin.txt")
    await uploaded(client, PNG)
    await uploaded(other_client)
    await user.adelete()
    assert len(files_in(media)) == await Attachment.objects.acount() == 1


async def test_files_go_with_a_queryset(client, media):
    await uploaded(client)
    await uploaded(client, PNG)
    await Attachment.objects.filter(media_type="image/png").adelete()
    assert [path.read_bytes() for path in files_in(media)] == [b"Hello"]


async def test_file_stays_when_its_deletion_is_undone(client, media):
    answer = await uploaded(client)

    def delete_and_fail():
        with transaction.atomic():
            Attachment.objects.all().delete()
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await sync_to_async(delete_and_fail)()
    assert await body_of(await client.http.get(answer["url"])) == b"Hello"


async def test_a_storage_that_fails_for_one_file_keeps_no_other(client, media, monkeypatch, caplog):
    first, _ = await uploaded(client), await uploaded(client, PNG)
    really_delete = FileSystemStorage.delete

    def delete(storage, name):
        if name.endswith(first["id"]):
            raise OSError("The disk is read-only.")
        really_delete(storage, name)

    monkeypatch.setattr(FileSystemStorage, "delete", delete)
    await Attachment.objects.order_by("created_at").adelete()
    assert [path.name for path in files_in(media)] == [first["id"]]
    assert "The disk is read-only." in caplog.text


class FullStorage(FileSystemStorage):
    """A disk with no room left."""

    def _save(self, name, content):
        raise OSError(errno.ENOSPC, "No space left on device", name)


class FullUpload(TemporaryFileUploadHandler):
    """The folder for what comes in has no room left."""

    def receive_data_chunk(self, raw_data, start):
        self.file.close()
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("what", ["storage", "temporary folder"])
async def test_a_full_disk_has_a_code_of_its_own(client, settings, media, caplog, what):
    if what == "storage":
        settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": f"{__name__}.FullStorage"}}
    else:
        settings.FILE_UPLOAD_HANDLERS = [f"{__name__}.FullUpload"]
    response = await upload(client)
    assert response.status_code == 507
    assert json.loads(response.content) == {
        "error": "storage_full",
        "message": "The server has no room for this now.",
    }
    assert "No space left on device" in caplog.text
    assert await Attachment.objects.acount() == 0
    assert not files_in(media)


async def test_two_same_uploads_at_once_are_both_there(client):
    both = await asyncio.gather(uploaded(client, name="a.txt"), uploaded(client, name="b.txt"))
    assert [await body_of(await client.http.get(answer["url"])) for answer in both] == [b"Hello"] * 2
    await client.http.delete(both[0]["url"])
    assert await body_of(await client.http.get(both[1]["url"])) == b"Hello"


async def test_upload_shares_no_file_that_is_just_being_deleted(client, monkeypatch):
    first = await uploaded(client)

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
    second = await uploaded(client)
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
    response = await upload(client, b"x" * 9 * 2**20)
    assert response.status_code == 507
    assert files_in(media) == []
    assert (await upload(client)).status_code == 201


@pytest.fixture
def little_room(settings):
    """No file can grow past this."""
    settings.FILE_UPLOAD_MAX_MEMORY_SIZE = 10 * 2**20
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * 2**20, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


async def test_upload_heals_a_lost_file(client, media):
    first = await uploaded(client)
    files_in(media)[0].unlink()
    assert (await client.http.get(first["url"])).status_code == 404
    second = await uploaded(client)
    assert await body_of(await client.http.get(second["url"])) == b"Hello"


async def test_name_on_disk_is_not_the_user_s(client, media):
    answer = await uploaded(client, name="../../evil.html")
    assert answer["name"] == "evil.html"
    [path] = files_in(media)
    assert path.name == answer["id"]


async def test_size_is_limited(client, settings, media):
    settings.AGUI = {"ATTACHMENTS": {"MAX_BYTES": 10}}
    assert (await upload(client, b"x" * 10)).status_code == 201
    response = await upload(client, b"x" * 11)
    assert response.status_code == 413
    assert json.loads(response.content)["limit"] == 10
    assert len(files_in(media)) == 1


async def test_all_files_of_an_owner_have_a_limit(client, other_client, settings, media):
    settings.AGUI = {"ATTACHMENTS": {"MAX_TOTAL_BYTES": 10}}
    first = await uploaded(client, b"x" * 6)
    assert (await upload(client, b"y" * 4)).status_code == 201
    response = await upload(client, b"z")
    assert response.status_code == 413
    assert json.loads(response.content)["limit"] == 10
    assert len(files_in(media)) == await Attachment.objects.acount() == 2
    assert (await upload(other_client, b"z" * 10)).status_code == 201
    await client.http.delete(first["url"])
    assert (await upload(client, b"z")).status_code == 201


async def test_same_content_again_counts_again(client, settings):
    settings.AGUI = {"ATTACHMENTS": {"MAX_TOTAL_BYTES": 10}}
    first = await uploaded(client, b"x" * 6)
    assert (await upload(client, b"x" * 6)).status_code == 413
    assert await body_of(await client.http.get(first["url"])) == b"x" * 6


async def test_visitor_s_files_have_that_limit_too(db, settings):
    settings.AGUI = {"ATTACHMENTS": {"MAX_TOTAL_BYTES": 10}}
    visitor, another = Client(None), Client(None)
    statuses = [
        (await one.http.post("/open/attachments/", {"file": SimpleUploadedFile("a", b"x" * 6)})).status_code
        for one in (visitor, visitor, another)
    ]
    assert statuses == [201, 413, 201]


async def test_files_without_a_limit(client, settings):
    settings.AGUI = {"ATTACHMENTS": {"MAX_TOTAL_BYTES": None}}
    assert (await upload(client)).status_code == 201


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


@pytest.mark.parametrize("by", ["token", "session"])
async def test_much_too_large_body_is_refused_before_it_is_parsed(client, user, settings, by):
    settings.AGUI = {"ATTACHMENTS": {"MAX_BYTES": 10}}
    settings.FILE_UPLOAD_HANDLERS = ["tests.test_attachments.no_handler"]
    if by == "session":
        client.http = AsyncClient(enforce_csrf_checks=True)
        await client.http.aforce_login(user)
    assert (await upload(client, b"x" * 100_000)).status_code == 413


async def test_body_of_unknown_length_is_refused(user):
    request = AsyncRequestFactory().post(URL, {"file": SimpleUploadedFile("a.txt", b"x")})
    del request.META["CONTENT_LENGTH"]
    response = await AttachmentsView(get_user=lambda request: user)(request)
    assert response.status_code == 400
    assert "Content-Length" in json.loads(response.content)["message"]


def no_handler(request):
    raise AssertionError("The body was parsed.")


@pytest.mark.parametrize("content", [b"\x7fELF\x01", b"a\x00b", b"\xff\xfe", "ж".encode()[:1], b"<x>\xc3"])
async def test_content_that_is_nothing_accepted_is_refused(client, content):
    response = await upload(client, content, "a.png", "image/png")
    assert response.status_code == 415
    answer = json.loads(response.content)
    assert (answer["error"], "text/plain" in answer["accepted"]) == ("unknown_kind", True)
    assert answer["message"].endswith("You can send: PNG, JPEG, GIF, WebP, PDF, texts.")


async def test_text_whose_letters_are_not_sure_is_refused_with_what_to_do(client):
    response = await upload(client, "franču, sesijas dati".encode("cp1257"), "a.txt")
    answer = json.loads(response.content)
    assert (response.status_code, answer["error"], "UTF-8" in answer["message"]) == (415, "unknown_encoding", True)


async def test_type_that_the_settings_don_t_name_is_refused(client, settings):
    settings.AGUI = {"ATTACHMENTS": {"TYPES": ["text/plain"]}}
    assert (await upload(client, PNG)).status_code == 415


async def test_page_is_text(client):
    answer = await uploaded(client, b"<script>alert(1)</script>", "x.html", "text/html")
    assert answer["mime"] == "text/plain"


async def test_body_that_is_no_form_with_one_file_is_refused(client):
    file, twin = SimpleUploadedFile("a", b"x"), SimpleUploadedFile("b", b"y")
    for data, status in [({}, 400), ({"file": "text"}, 400), ({"other": file}, 400), ({"file": [file, twin]}, 400)]:
        assert (await client.http.post(URL, data)).status_code == status, data
    assert (await upload(client, b"")).status_code == 400
    assert (await client.http.post(URL, "{}", content_type="application/json")).status_code == 415
    assert (await client.http.post(URL, b"--x", content_type="multipart/form-data")).status_code == 400


async def test_browser_uploads_with_the_csrf_token_in_the_header(user):
    http = AsyncClient(enforce_csrf_checks=True)
    await http.aforce_login(user)
    http.cookies["csrftoken"] = "a" * 32
    file = SimpleUploadedFile("a.txt", b"x")
    assert (await http.post(URL, {"file": file}, headers={"X-CSRFToken": "a" * 32})).status_code == 201


async def test_browser_without_the_csrf_token_is_refused(user, media):
    http = AsyncClient(enforce_csrf_checks=True)
    await http.aforce_login(user)
    assert (await http.post(URL, {"file": SimpleUploadedFile("a.txt", b"x")})).status_code == 403
    assert files_in(media) == []


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
        (b"RIFF\x00\x00\x00\x00WAVE", None),
        (b"GIF8", None),
        (b"", None),
    ],
)
def test_media_type_is_known_by_the_first_bytes(head, media_type):
    assert media_type_of(head) == media_type


def on_disk(content):
    """An upload as Django hands over large ones: it comes in chunks."""
    upload = TemporaryUploadedFile("a", "text/plain", len(content), None)
    upload.write(content)
    return upload


def test_character_across_two_chunks_is_text():
    with on_disk(b"x" * (64 * 1024 - 1) + "ж".encode()) as upload:
        assert inspect(upload).media_type == "text/plain"


def test_type_of_a_large_file_is_told_by_its_beginning():
    with on_disk(PNG + b"\x00" * 200_000) as upload:
        assert inspect(upload).media_type == "image/png"


def test_binary_tail_is_no_text():
    with on_disk(b"x" * 100_000 + b"\xff\x01") as upload:
        assert inspect(upload).encoding == ""


PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n"


@pytest.mark.parametrize(
    "before", [b"", b"\n", b"\r\n \t", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n", b"\0\0", b"\x1b%-12345X@PJL\n", b"x" * 900]
)
def test_pdf_begins_anywhere_in_its_first_bytes(before):
    with on_disk(before + PDF + b"\n" * 500) as upload:
        assert inspect(upload).media_type == "application/pdf"


@pytest.mark.parametrize("text", ["See %PDF-1.4.", "A file\n%PDF-1.7\nis one.", "x" * 2000 + "%PDF-1.4\n%%EOF"])
def test_text_about_pdf_is_a_text(text):
    with on_disk(text.encode()) as upload:
        assert inspect(upload).media_type == "text/plain"


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
    "line%0Abreak\x00.txt": "line%0Abreak.txt",
    "..%22": '.."',
    "C:\\folder\\a.txt": "a.txt",
    "../../b%22.txt": 'b".txt',
}


@pytest.mark.parametrize(("sent", "kept"), NAMES.items(), ids=range(len(NAMES)))
async def test_name_comes_back_as_it_was(client, sent, kept):
    assert await upload_as(client, sent.encode()) == kept


async def test_name_is_the_same_if_the_check_of_the_token_has_read_the_form(client, user):
    client.http = AsyncClient(enforce_csrf_checks=True)
    await client.http.aforce_login(user)
    client.http.cookies["csrftoken"] = "a" * 32
    token = {"X-CSRFToken": "a" * 32}
    assert await upload_as(client, "👩\u200d👧 %22a%22.txt".encode(), **token) == '👩\u200d👧 "a".txt'
