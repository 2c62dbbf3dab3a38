"""Files of offices, written by hand: small ones that can be read, and a hundred that want to do harm."""

import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
X = f'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{OFFICE}"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
P += f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{OFFICE}"'
ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "draw", "style", "presentation")
)
ODF += ' xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"'
TYPE = "application/vnd.openxmlformats-officedocument."


def archive(*entries: tuple[str, str | bytes], compress: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", compress) as written:
        for name, content in entries:
            written.writestr(name, content)
    return file.getvalue()


def package(main: str, kind: str, *entries: tuple[str, str | bytes]) -> bytes:
    """A file of Office: what its parts are, where its main part is, and the parts."""
    types = f'<Override PartName="/{main}" ContentType="{TYPE}{kind}.main+xml"/>'
    for name, _ in entries:
        if "slides/slide" in name and not name.endswith(".rels"):
            types += f'<Override PartName="/{name}" ContentType="{TYPE}presentationml.slide+xml"/>'
    defaults = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    defaults += '<Default Extension="xml" ContentType="application/xml"/>'
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    return archive(
        ("[Content_Types].xml", f'<Types xmlns="{space}">{defaults}{types}</Types>'),
        ("_rels/.rels", relations(("officeDocument", main))),
        *entries,
    )


def relations(*targets: tuple[str, str], mode: str = "") -> str:
    lines = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"{mode}/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{lines}</Relationships>'
    )


def docx(body: str | bytes, *more: tuple[str, str | bytes], head: str = "") -> bytes:
    document = body if isinstance(body, bytes) else f"{head}<w:document {W}><w:body>{body}</w:body></w:document>"
    return package("word/document.xml", "wordprocessingml.document", ("word/document.xml", document), *more)


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def xlsx(data: str, *more: tuple[str, str | bytes], sheets: int = 1, states: str = "", after: str = "") -> bytes:
    listed = "".join(f'<sheet name="S{n}" sheetId="{n}" r:id="r{n}"{states}/>' for n in range(1, sheets + 1))
    targets = [("worksheet", "worksheets/sheet1.xml")] * sheets
    if more:
        targets += [("sharedStrings", "sharedStrings.xml")]
    return package(
        "xl/workbook.xml",
        "spreadsheetml.sheet",
        ("xl/workbook.xml", f"<workbook {X}><sheets>{listed}</sheets></workbook>"),
        ("xl/_rels/workbook.xml.rels", relations(*targets)),
        ("xl/worksheets/sheet1.xml", f"<worksheet {X}><sheetData>{data}</sheetData>{after}</worksheet>"),
        *more,
    )


def cell(place: str, value: object = 1, kind: str = "n") -> str:
    return f'<row r="{place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")}"><c r="{place}" t="{kind}"><v>{value}</v></c></row>'


def pptx(shapes: str, slides: int = 1) -> bytes:
    listed = "".join(f'<p:sldId id="{255 + n}" r:id="r{n}"/>' for n in range(1, slides + 1))
    slide = f"<p:sld {P}><p:cSld><p:spTree><p:nvGrpSpPr/><p:grpSpPr/>{shapes}</p:spTree></p:cSld></p:sld>"
    entries = [(f"ppt/slides/slide{n}.xml", slide) for n in range(1, slides + 1)]
    targets = [("slide", f"slides/slide{n}.xml") for n in range(1, slides + 1)]
    return package(
        "ppt/presentation.xml",
        "presentationml.presentation",
        ("ppt/presentation.xml", f"<p:presentation {P}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"),
        ("ppt/_rels/presentation.xml.rels", relations(*targets)),
        *entries,
    )


def shape(text: str) -> str:
    return (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="t"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def opendocument(kind: str, body: str, head: str = "", styles: str = "", manifest: str = "<m/>") -> bytes:
    content = f"{head}<office:document-content {ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
    content += f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    return archive(
        ("mimetype", f"application/vnd.oasis.opendocument.{kind}"),
        ("content.xml", content),
        ("styles.xml", f"<office:document-styles {ODF}/>"),
        ("META-INF/manifest.xml", manifest),
    )


HEADER = "From: a@example.com\r\nTo: b@example.com\r\nSubject: hello\r\nMIME-Version: 1.0\r\n"


def mail(body: str, kind: str = "text/plain", fields: str = "") -> bytes:
    return f'{HEADER}{fields}Content-Type: {kind}; charset="utf-8"\r\n\r\n{body}'.encode()


# --- Bombs

LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>{}]>"


def laughs(levels: int) -> str:
    entities = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, levels + 1))
    return LAUGHS.format(entities)


def nested(before: str, after: str, depth: int, text: str = "x") -> str:
    return before * depth + text + after * depth


def overlapping(number: int) -> bytes:
    """Many entries that are the same compressed bytes."""
    data = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = data.compress(b"0" * 10_000_000) + data.flush()
    common = struct.pack("<HHHHHLLL", 20, 0, 8, 0, 0, zlib.crc32(b"0" * 10_000_000), len(packed), 10_000_000)
    local = b"PK\x03\x04" + common + struct.pack("<HH", 17, 0) + b"word/document.xml" + packed
    names = [b"word/document.xml", *(f"word/{n:08}.xml".encode() for n in range(number))]
    listed = b"".join(
        b"PK\x01\x02\x14\x00" + common + struct.pack("<HHHHHLL", len(name), 0, 0, 0, 0, 0, 0) + name for name in names
    )
    end = struct.pack("<HHHHLLH", 0, 0, len(names), len(names), len(listed), len(local), 0)
    return local + listed + b"PK\x05\x06" + end


def lying(data: bytes) -> bytes:
    """The sizes of all entries, as their headers have them, become 1."""
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.find(mark)
        while at >= 0:
            data = data[: at + place] + struct.pack("<L", 1) + data[at + place + 4 :]
            at = data.find(mark, at + 4)
    return data


def multiparts(depth: int) -> bytes:
    text = HEADER
    for n in range(depth):
        text += f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n"
    return (text + "Content-Type: text/plain\r\n\r\nx\r\n").encode()


def compound(choose: random.Random) -> bytes:
    """A file system of sectors whose order is a circle."""
    sectors = b"".join(struct.pack("<L", choose.randrange(8)) for _ in range(128)) * 8
    name = "Workbook".encode("utf-16-le").ljust(64, b"\0")
    entry = name + struct.pack("<HBB", 18, 2, 1) + b"\xff" * 12 + b"\0" * 36 + struct.pack("<LQ", 1, 2**40)
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + choose.randbytes(68) + struct.pack("<L", 0) * 109 + entry * 8 + sectors


# Each makes a file of a size: 1 is small, 3 is large.
BOMBS: dict[str, Callable[[int], bytes]] = {
    "zeros": lambda n: docx(b"0" * (n * 100_000_000)),
    "text": lambda n: docx(paragraph("x" * (n * 20_000_000))),
    "lying sizes": lambda n: lying(docx(paragraph("x" * (n * 10_000_000)))),
    "entries": lambda n: docx(paragraph("x"), *((f"e/{i}", "") for i in range(n * 4000))),
    "same bytes": lambda n: overlapping(n * 30),
    "deep": lambda n: docx(nested("<w:p>", "</w:p>", n * 50_000)),
    "deep tables": lambda n: docx(nested("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", n * 200, paragraph("x"))),
    "laughs": lambda n: docx(paragraph(f"&a{n * 4};"), head=laughs(n * 4)),
    "one entity": lambda n: docx(paragraph("&a;" * (n * 30_000)), head=f"<!DOCTYPE x [<!ENTITY a '{'a' * 50_000}'>]>"),
    "outside": lambda n: docx(
        paragraph("&a;"),
        head=f"<!DOCTYPE x [<!ENTITY a SYSTEM '{['file:///etc/passwd', 'http://127.0.0.1:9'][n % 2]}'>]>",
    ),
    "paragraphs": lambda n: docx(paragraph("x") * (n * 100_000)),
    "spans": lambda n: docx(
        "<w:tbl>"
        + f'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="{10 ** (n * 3)}"/></w:tcPr></w:tc></w:tr>' * 1000
        + "</w:tbl>"
    ),
    "attribute": lambda n: docx(f'<w:p w:x="{"x" * (n * 20_000_000)}"/>'),
    "links outside": lambda n: docx(
        f'<w:p><w:hyperlink r:id="r1" xmlns:r="{OFFICE}">{paragraph("x") * n}</w:hyperlink></w:p>',
        ("word/_rels/document.xml.rels", relations(("image", "http://127.0.0.1:9/x"), mode=' TargetMode="External"')),
    ),
    "far cell": lambda n: xlsx(cell("A1") + cell(["XFD1048576", "A1048576", "ZZ900000"][n - 1])),
    "columns": lambda n: xlsx("".join(f'<row r="{i}"><c r="XFD{i}"><v>1</v></c></row>' for i in range(1, n * 2000))),
    "shared text": lambda n: xlsx(
        "".join(cell(f"A{i}", 0, "s") for i in range(1, n * 5000)),
        ("xl/sharedStrings.xml", f"<sst {X}><si><t>{'x' * 1_000_000}</t></si></sst>"),
    ),
    "shared texts": lambda n: xlsx(
        cell("A1", 0, "s"), ("xl/sharedStrings.xml", f"<sst {X}>{'<si><t>x</t></si>' * (n * 1_000_000)}</sst>")
    ),
    "merged": lambda n: xlsx(
        cell("A1"), after="<mergeCells>" + '<mergeCell ref="A1:XFD1048576"/>' * (n * 100_000) + "</mergeCells>"
    ),
    "sheets": lambda n: xlsx(cell("A1"), sheets=n * 400),
    "no such place": lambda n: xlsx(cell("ZZZZZZ99999999999") * n),
    "repeated": lambda n: opendocument(
        "spreadsheet",
        '<table:table table:name="t"><table:table-row table:number-rows-repeated="1048576"><table:table-cell '
        f'table:number-columns-repeated="{16384**n}" office:value-type="float" office:value="1"/></table:table-row>'
        "</table:table>",
    ),
    "groups": lambda n: pptx(nested("<p:grpSp><p:nvGrpSpPr/><p:grpSpPr/>", "</p:grpSp>", n * 120, shape("x"))),
    "slides": lambda n: pptx(shape("x"), slides=n * 1000),
    "words of a slide": lambda n: pptx(shape("x " * (n * 3_000_000))),
    "blanks": lambda n: opendocument("text", f'<text:p>x<text:s text:c="{10 ** (n * 3)}"/></text:p>' * 1000),
    "lists": lambda n: opendocument(
        "text", nested("<text:list><text:list-item>", "</text:list-item></text:list>", n * 400)
    ),
    "laughs of ODF": lambda n: opendocument("text", f"<text:p>&a{n * 4};</text:p>", head=laughs(n * 4)),
    "slides of ODF": lambda n: opendocument("presentation", nested("<draw:page>", "</draw:page>", n * 300)),
    "multiparts": lambda n: multiparts(n * 5000),
    "fields": lambda n: mail("x", fields="X-A: b\r\n" * (n * 200_000)),
    "recipients": lambda n: mail("x", fields=f"Cc: {', '.join(['<a@b.example>'] * (n * 20_000))}\r\n"),
    "encoded words": lambda n: mail("x", fields=f"Cc: {'=?utf-8?q?=41?= ' * (n * 20_000)}\r\n"),
    "quotes": lambda n: mail("x", fields="Reply-To: " + '"' * (n * 50_000) + "(" * (n * 50_000) + "\r\n"),
    "deep page": lambda n: mail(nested("<div>", "</div>", n * 50_000), "text/html"),
    "page of tables": lambda n: mail(nested("<table><tr><td rowspan=65534 colspan=1000>", "", n * 150), "text/html"),
    "quoted": lambda n: mail("> " * 500 * (n * 1000)),
    "letters": lambda n: mail("x", f"text/plain; charset={'utf-7' if n % 2 else 'x-none'}"),
    "mails in mails": lambda n: (f"{HEADER}Content-Type: message/rfc822\r\n\r\n" * (n * 2000)).encode(),
}


def hundred(seed: int) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """A hundred bombs: of each kind a small one and a larger one, and good files with wrong bytes."""
    choose = random.Random(seed)  # noqa: S311
    for name, make in BOMBS.items():
        for size in (1, choose.choice([2, 3])):
            yield f"{name} {size}", lambda make=make, size=size: make(size)
    good = [docx(paragraph("x")), xlsx(cell("A1")), pptx(shape("x")), opendocument("text", "<text:p>x</text:p>")]
    for number in range(100 - 2 * len(BOMBS)):
        data = bytearray(compound(choose) if number % 5 == 4 else good[number % 5])
        for _ in range(choose.choice([1, 5, 50])):
            data[choose.randrange(len(data))] = choose.randrange(256)
        yield f"wrong bytes {number}", lambda data=bytes(data): data
