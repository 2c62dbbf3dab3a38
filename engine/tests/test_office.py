"""Files of offices: people send them, the model reads them as texts, and no file harms the server."""

import os
import re
import shutil
import subprocess
from html import unescape
from io import BytesIO
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import SynchronousOnlyOperation
from django.core.files.uploadedfile import SimpleUploadedFile
from pydantic_ai.exceptions import ToolFailed

from agui.contrib.attachments.files import inspect
from agui.contrib.attachments.readers import Encrypted
from agui.contrib.office import child, kinds, recognize, texts
from agui.contrib.office.convert import CUT, MAX_TEXT_CHARACTERS
from tests import office_files
from tests.conftest import Client, read_attachment
from tests.office_files import cell, docx, mail, opendocument, paragraph, pptx, shape, xlsx

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("media")]

TABLE = "".join(
    f"<w:tr>{''.join(f'<w:tc>{more}{paragraph(text)}</w:tc>' for more, text in row)}</w:tr>"
    for row in [
        [('<w:tcPr><w:gridSpan w:val="2"/></w:tcPr>', "Preis"), ("", "Ort")],
        [('<w:tcPr><w:vMerge w:val="restart"/></w:tcPr>', "a|b"), ("", "5 €"), ("", "Köln")],
        [("<w:tcPr><w:vMerge/></w:tcPr>", ""), ("", "7 €"), ("", "Ulm")],
    ]
)
PICTURE = (
    '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
    '<wp:docPr descr="A red dot"/><a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
    '<a:graphicData><pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill>'
    f'<a:blip r:link="r1" xmlns:r="{office_files.OFFICE}"/></pic:blipFill></pic:pic></a:graphicData></a:graphic>'
    "</wp:inline></w:drawing></w:r></w:p>"
)
# An image at an address: no file may make the server ask there.
ELSEWHERE = office_files.relations(("image", "http://127.0.0.1:9/a.png"), mode=' TargetMode="External"')
ODF_TABLE = (
    "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell>"
    "<text:p>b</text:p></table:table-cell></table:table-row></table:table>"
)
SHEET = ODF_TABLE.replace("<table:table>", '<table:table table:name="T">')
SHEET = SHEET.replace("<table:table-cell>", '<table:table-cell office:value-type="string">')
NUMBERS = '<text:list-level-style-number text:level="1" style:num-format="1"/>'
NUMBERS = f'<text:list-style style:name="N">{NUMBERS}</text:list-style>'
NOTE = "<text:note-citation>1</text:note-citation><text:note-body><text:p>below</text:p></text:note-body>"
NOTE = f"<text:note>{NOTE}</text:note>"
PARTS = (
    '--b\r\nContent-Type: text/plain; charset="iso-8859-1"\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n'
    "Gr=FC=DFe\r\n"
    '--b\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="a.pdf"\r\n\r\nx\r\n'
    "--b\r\nContent-Type: message/rfc822\r\n\r\nFrom: c@example.com\r\nSubject: inner\r\n\r\ninner text\r\n--b--\r\n"
)
MIXED = office_files.HEADER + f'Content-Type: multipart/mixed; boundary="b"\r\n\r\n{PARTS}'

# A table within a cell.
WITHIN = "<table><tr><td colspan=2>c|d<tr><td><table><tr><td>a</table><td>b</table>"
SHOWN = "From: a@example.com\nTo: b@example.com\nSubject: hello\n\n"

READ = {
    "words": (docx(paragraph("Grüße") + paragraph("a * b &lt;b&gt;")), kinds.DOCX, "Grüße\n\na * b <b>"),
    "table": (
        docx(f"<w:tbl>{TABLE}</w:tbl>"),
        kinds.DOCX,
        "| Preis |  | Ort |\n| --- | --- | --- |\n| a\\|b | 5 € | Köln |\n|  | 7 € | Ulm |",
    ),
    "picture": (docx(PICTURE, ("word/_rels/document.xml.rels", ELSEWHERE)), kinds.DOCX, "[Image: A red dot]"),
    "values": (
        xlsx('<row r="1"><c r="A1"><f>1+1</f><v>2</v></c><c r="B1" t="b"><v>1</v></c><c r="C1"><v>0.5</v></c></row>'),
        kinds.XLSX,
        "## S1\n\n| 2 | TRUE | 0.5 |\n| --- | --- | --- |",
    ),
    "hidden": (xlsx(cell("B2"), states=' state="hidden"'), kinds.XLSX, "## S1 (a hidden sheet)\n\n| 1 |\n| --- |"),
    "slides": (pptx(shape("Hello"), slides=2), kinds.PPTX, "## Slide 1\n\nHello\n\n## Slide 2\n\nHello"),
    "open text": (
        opendocument(
            "text",
            f'<text:h text:outline-level="2">H</text:h><text:p>x{NOTE}<text:s text:c="2"/>y</text:p>{ODF_TABLE}'
            '<text:list text:style-name="N"><text:list-item><text:p>one</text:p></text:list-item></text:list>',
            styles=NUMBERS,
        ),
        kinds.ODT,
        "## H\n\nx[1] y\n\n| a | b |\n| --- | --- |\n\n1. one\n\n[1]\n\nbelow",
    ),
    "open slides": (
        opendocument("presentation", "<draw:page><draw:frame><draw:text-box><text:p>x</text:p></draw:text-box>"
        "<svg:title>t</svg:title></draw:frame></draw:page>"),
        kinds.ODP,
        "## Slide 1\n\nx\n\n[Image: t]",
    ),
    "open sheet": (
        opendocument("spreadsheet", SHEET),
        kinds.ODS,
        "## T\n\n| a | b |\n| --- | --- |",
    ),
    "mail": (
        MIXED.encode(),
        kinds.MAIL,
        f"{SHOWN}Grüße\n\nAttached files, which are not part of this text:\n\n- a.pdf (application/pdf)\n\n"
        "---\n\nA mail that is attached:\n\nFrom: c@example.com\nSubject: inner\n\ninner text",
    ),
    "page": (
        mail(f"<style>p {{}}</style><p>x <a href='javascript:1'>y</a></p>{WITHIN}", "text/html"),
        kinds.MAIL,
        f"{SHOWN}x y\n\n| c\\|d |  |\n| --- | --- |\n| \\| a \\| \\| --- \\| | b |",
    ),
}  # fmt: skip

# Not one of these is a file of an office.
OTHERS = [
    (b"Subject: a note about mails\nFrom the start\n", "text/plain"),
    (b"{\\rtf1 words}", "text/plain"),
    (docx(paragraph("x")).replace(b"word/document", b"word/d0cument"), "application/octet-stream"),
    (b"PK\x03\x04" + b"\0" * 2000, "application/octet-stream"),
    (office_files.archive(("docs/word/document.xml", "x")), "application/octet-stream"),
]
COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 504
LOCKED = [
    COMPOUND + "EncryptedPackage".encode("utf-16-le") + b"\0\0",
    opendocument("text", "<text:p>x</text:p>", manifest="<m><encryption-data/></m>"),
]
SENTENCE = re.compile(r"[A-Z][^/\n.]*\.")


@pytest.mark.parametrize("name", READ)
async def test_the_model_reads_what_a_person_reads(client: Client, name: str):
    content, media_type, text = READ[name]
    file = await client.uploaded(content)
    assert file["mime"] == media_type
    result = (await read_attachment(client, file)).content
    assert result["text"] == text
    assert result["bytes"] == len(text.encode())


async def test_a_file_is_converted_once_for_all_of_its_pages(client: Client, settings, monkeypatch):
    settings.AGUI = {"ATTACHMENTS": {"READ_PAGE_BYTES": 1000}}
    converted = []
    convert = texts.convert
    monkeypatch.setattr(texts, "convert", lambda *given: converted.append(given) or convert(*given))
    file = await client.uploaded(docx(paragraph("words " * 300)))
    first = (await read_attachment(client, file)).content
    assert first["note"].endswith("call read_attachment with offset=1000.")
    second = (await read_attachment(client, file, offset=1000)).content
    assert (first["text"] + second["text"]).split() == ["words"] * 300
    assert len(converted) == 1


async def test_a_damaged_file_is_said_to_be(client: Client):
    file = await client.uploaded(docx(b"<w:document"))
    result = await read_attachment(client, file)
    assert (result.outcome, result.content) == ("failed", child.DAMAGED)


async def test_no_file_is_converted_on_the_event_loop():
    with pytest.raises(SynchronousOnlyOperation):
        texts.text_of("a", kinds.DOCX, docx(paragraph("x")))
    assert await sync_to_async(texts.text_of)("a", kinds.DOCX, docx(paragraph("x"))) == "x"


@pytest.mark.parametrize(("content", "media_type"), OTHERS, ids=range(len(OTHERS)))
def test_what_only_looks_so_is_another_file(content: bytes, media_type: str):
    assert inspect(SimpleUploadedFile("a", content, "")).media_type == media_type


@pytest.mark.parametrize("content", LOCKED, ids=range(len(LOCKED)))
def test_a_file_with_a_password_is_refused_with_the_reason(content: bytes):
    with pytest.raises(Encrypted, match="protected with a password"):
        inspect(SimpleUploadedFile("a", content))


def test_types_that_are_not_accepted_are_as_without_the_part(settings):
    settings.AGUI = {"OFFICE": {"TYPES": [kinds.DOCX]}}
    assert inspect(SimpleUploadedFile("a", mail("x"))).media_type == "text/plain"
    assert inspect(SimpleUploadedFile("a", xlsx(cell("A1")), "")).media_type == "application/octet-stream"


# --- Bombs

HUNDRED = dict(office_files.hundred(1))
# A bomb for each limit (memory, entries, depth, entities, sheets) with its sentence, and two that end in a text.
BY_DAY = {
    "shared text 1": child.TOO_LARGE,
    "entries 2": child.TOO_LARGE,
    "deep tables 1": child.TOO_LARGE,
    "mails in mails 1": child.TOO_LARGE,
    "sheets 3": child.TOO_LARGE,
    "laughs of ODF 2": child.DAMAGED,
    "words of a slide 1": "",
    "outside 1": "",
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in BY_DAY else pytest.mark.nightly) for name in HUNDRED]
)
def test_a_bomb_ends_in_a_sentence(name: str, settings):
    settings.AGUI = {"OFFICE": {"TIMEOUT_SECONDS": 15.0}}
    content = HUNDRED[name]()
    file = BytesIO(content)
    file.size = len(content)  # type: ignore[attr-defined]
    media_type = recognize.media_type_of(file, content[:1024])
    if media_type is None:
        return
    said = ""
    text = ""
    try:
        text = texts.text_of(name, media_type, content)
    except ToolFailed as error:
        said = str(error)
    assert SENTENCE.fullmatch(said) or not said
    assert said == BY_DAY.get(name, said)
    assert len(text) <= MAX_TEXT_CHARACTERS + len(CUT)
    assert "root:" not in text


def test_a_child_has_no_secrets_no_network_and_a_time(settings, monkeypatch):
    """What a file makes a library do: the child tells it in its text."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    start = "import os, json; print(json.dumps({'text': ' '.join(os.environ)}))"
    options = texts.conf.part(texts.OfficeSettings)
    monkeypatch.setattr(child, "START", start)
    assert "OPENAI_API_KEY" not in child.convert(kinds.DOCX, b"", options)
    reach = "import socket; socket.create_connection(('127.0.0.1', 9))"
    start = f"import sys; from agui.contrib.office.convert import forbid; sys.addaudithook(forbid)\n{reach}"
    monkeypatch.setattr(child, "START", "import json, sys\nsys.path[:] = json.loads(sys.argv[1])\n" + start)
    with pytest.raises(child.Refused):
        child.convert(kinds.DOCX, b"", options)
    monkeypatch.setattr(child, "START", "while True: pass")
    short = options.model_copy(update={"timeout_seconds": 0.5})
    with pytest.raises(child.Refused, match="takes too long"):
        child.convert(kinds.DOCX, b"", short)


# --- Files of others

# Words that pandoc has elsewhere: captions and formulas in objects of their own, and joined letters.
ELSEWHERE_IN_PANDOC = {"formula.odt", "simpleTableWithCaption.odt", "tableWithCaption.odt", "drop_cap.docx"}
ELSEWHERE_IN_PANDOC |= {"table_captions_with_field.docx", "paragraph_insertion_deletion.docx", "normalize.docx"}
INLINE = re.compile(r"</?(?:em|strong|a|span|sup|sub|code|s|u|del|ins|mark)\b[^>]*>")


@pytest.fixture(scope="session")
def real_files(tmp_path_factory) -> list[Path]:
    """The documents among the tests of Debian's source package `pandoc`."""
    if not (shutil.which("pandoc") and shutil.which("apt-get")):
        pytest.skip("pandoc and apt-get are not on the PATH")
    folder = tmp_path_factory.mktemp("debian")
    sources = folder / "sources.list"
    lines = subprocess.run(["apt-cache", "policy"], capture_output=True, text=True, check=True).stdout
    [mirror, suite] = re.findall(r"\d+ (http\S+/debian) (\w+)/main", lines)[0]
    sources.write_text(f"deb-src {mirror} {suite} main\n")
    options = [f"-oDir::Etc::sourcelist={sources}", "-oDir::Etc::sourceparts=-", f"-oDir::State::lists={folder}/lists"]
    (folder / "lists/partial").mkdir(parents=True)
    for command in (["update"], ["source", "--download-only", "pandoc"]):
        subprocess.run(
            ["apt-get", "-qq", *options, *command], cwd=folder, check=True, env={**os.environ, "LC_ALL": "C"}
        )
    [packed] = folder.glob("pandoc_*.orig.tar.*")
    subprocess.run(["tar", "xf", packed, "-C", folder], check=True)
    return sorted(path for kind in ("docx", "odt") for path in folder.glob(f"pandoc-*/test/{kind}/**/*.{kind}"))


def missing(expected: list[str], found: list[str]) -> list[str]:
    """The words that are not found after those before them."""
    gone = []
    place = 0
    for word in expected:
        if word in found[place:]:
            place = found.index(word, place) + 1
        else:
            gone.append(word)
    return gone


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.replace("*", ""))


@pytest.mark.nightly
def test_every_word_that_pandoc_reads_is_there_in_its_order(real_files: list[Path]):
    compared = 0
    for path in real_files[::2]:
        if path.name in ELSEWHERE_IN_PANDOC or "golden" in path.parts:
            continue
        html = subprocess.run(["pandoc", "-t", "html", path], capture_output=True, text=True, check=True).stdout
        expected = words(unescape(re.sub("<[^>]*>", " ", re.sub(INLINE, "", html))))
        media_type = inspect(SimpleUploadedFile(path.name, path.read_bytes())).media_type
        found = words(texts.text_of(str(path), media_type, path.read_bytes()))
        # A word may be joined to the sign of a note, or to the Chinese letters next to it.
        assert len(missing(expected, found)) <= 1, path.name
        compared += 1
    assert compared >= 50
