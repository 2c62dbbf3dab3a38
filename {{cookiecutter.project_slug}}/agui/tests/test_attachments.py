"""Uploads: whose they are, what they may be, and how they come back."""

import json
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile, TemporaryUploadedFile
from django.test import AsyncClient

from agui.attachments import inspect, media_type_of, read_chunks
from agui.models import Attachment

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


async def test_download_is_read_in_pieces(media):
    default_storage.save("big", SimpleUploadedFile("big", b"x" * 300_000))
    sizes = [len(chunk) async for chunk in read_chunks(default_storage, "big")]
    assert max(sizes) <= 64 * 1024
    assert sum(sizes) == 300_000


async def test_another_s_attachment_is_unknown(client, other_client):
    answer = await uploaded(client)
    assert (await other_client.http.get(answer["url"])).status_code == 404
    assert (await other_client.http.delete(answer["url"])).status_code == 404
    assert (await client.http.get(answer["url"])).status_code == 200


async def test_unknown_attachment_is_404(client):
    assert (await client.http.get(f"{URL}{uuid4()}/")).status_code == 404


async def test_anonymous_is_refused():
    http = AsyncClient()
    assert (await http.post(URL, {"file": SimpleUploadedFile("a.txt", b"x")})).status_code == 401
    assert (await http.get(f"{URL}{uuid4()}/")).status_code == 401
    assert (await http.get(URL)).status_code == 401


@pytest.mark.parametrize(("method", "one", "allowed"), [("get", False, "POST"), ("post", True, "DELETE, GET")])
async def test_wrong_method_is_405(client, method, one, allowed):
    response = await getattr(client.http, method)(f"{URL}{uuid4()}/" if one else URL)
    assert response.status_code == 405
    assert response["Allow"] == allowed


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
    settings.AGUI = {"MAX_UPLOAD_BYTES": 10}
    assert (await upload(client, b"x" * 10)).status_code == 201
    response = await upload(client, b"x" * 11)
    assert response.status_code == 413
    assert json.loads(response.content)["limit"] == 10
    assert len(files_in(media)) == 1


async def test_much_too_large_body_is_refused_before_it_is_parsed(client, settings, monkeypatch):
    settings.AGUI = {"MAX_UPLOAD_BYTES": 10}
    settings.FILE_UPLOAD_HANDLERS = ["agui.tests.test_attachments.no_handler"]
    assert (await upload(client, b"x" * 100_000)).status_code == 413


def no_handler(request):
    raise AssertionError("The body was parsed.")


@pytest.mark.parametrize("content", [b"\x7fELF\x01", b"a\x00b", b"\xff\xfe", "ж".encode()[:1], b"<x>\xc3"])
async def test_content_that_is_nothing_accepted_is_refused(client, content):
    response = await upload(client, content, "a.png", "image/png")
    assert response.status_code == 415
    assert "text/plain" in json.loads(response.content)["message"]


async def test_type_that_the_settings_don_t_name_is_refused(client, settings):
    settings.AGUI = {"UPLOAD_TYPES": ["text/plain"]}
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
        assert inspect(upload)[0] == "text/plain"


def test_type_of_a_large_file_is_told_by_its_beginning():
    with on_disk(PNG + b"\x00" * 200_000) as upload:
        assert inspect(upload)[0] == "image/png"


def test_binary_tail_is_no_text():
    with on_disk(b"x" * 100_000 + b"\xff") as upload:
        assert inspect(upload)[0] == "application/octet-stream"
