# ruff: noqa: RUF001
"""Texts in the encodings of Excel and Windows: the right letters, or a refusal, and never other letters."""

import codecs
import csv
import gettext
import random
import re
from collections import Counter
from functools import cache
from io import StringIO
from pathlib import Path

import django
import pytest

from agui.contrib.attachments import encodings
from agui.contrib.attachments.encodings import encoding_of

REPORTED = {
    "Name;Ort\nMüller, Zoë;Besançon\n": "cp1252",
    "Name;Stadt\r\nJürgen Groß;Köln\r\n": "cp1252",
    "nombre;año\nPeña;1990\n": "cp1252",
    "Name;Preis\r\nTisch;5 €\r\n": "cp1252",
    "Name\tPrice\r\n“Table” – red\t€ 5\r\n": "cp1252",
    'Artikel\tPreis\r\n"Tür ""neu"""\t5,00 €\t„neu“ – rot\r\n': "cp1252",
    "Zażółć gęślą jaźń": "cp1250",
    "Привет, мир. Это таблица за март;42\r\n": "cp1251",
    "Привет": "koi8-r",
    "買い物リスト：パンと牛乳とお茶\n": "shift_jis",
    "你好，世界\r\n": "gb18030",
    "您好，世界": "big5",
    "안녕하세요": "euc_kr",
    "日本語のテキスト": "iso2022_jp",
    "日本語のテキスト\n": "euc_jp",
    "이름,도시\n보라,부산\n": "utf-16",
    "Bread and tea\n": "utf-16-le",
    "Хлеб и чай\n": "utf-16-be",
    "あいうえお\n": "utf-16-le",
    "Grüße": "utf-32",
}
# By language, what its texts are saved in.
SAVED = {
    "de": "cp1252 latin-1 iso8859-15 utf-16-le cp850",
    "fr": "cp1252 iso8859-15 mac_roman",
    "es": "cp1252 cp437",
    "pt": "cp1252",
    "sv": "cp1252",
    "is": "cp1252",
    "pl": "cp1250 iso8859-2 cp852 utf-16-be",
    "cs": "cp1250 iso8859-2",
    "hu": "cp1250",
    "ru": "cp1251 koi8-r cp866 iso8859-5 utf-16-le",
    "uk": "cp1251 koi8-u",
    "el": "cp1253 iso8859-7 utf-16-le",
    "tr": "cp1254 iso8859-9",
    "he": "cp1255 iso8859-8",
    "ar": "cp1256 iso8859-6 utf-16-be",
    "lt": "cp1257 iso8859-13",
    "th": "cp874 utf-16-le",
    "ja": "cp932 euc_jp iso2022_jp utf-16-le utf-16-be",
    "zh_Hans": "gb18030 gbk utf-16-le",
    "zh_Hant": "big5 cp950 utf-16-be",
    "ko": "cp949 euc_kr utf-16-le",
}
# These are refused, or read right: too many others are like them.
UNSURE = {"cp437", "cp850", "cp852", "mac_roman", "cp1257", "iso8859-13"}


@pytest.mark.parametrize(("text", "encoding"), REPORTED.items(), ids=range(len(REPORTED)))
def test_short_texts_are_read_as_they_were_written(text, encoding):
    data = text.encode(encoding)
    assert data.decode(encoding_of(data)) == text


@cache
def phrases(language: str) -> list[str]:
    """What Django says in this language."""
    phrases = set()
    for path in Path(django.__file__).parent.rglob(f"locale/{language}/LC_MESSAGES/django.mo"):
        with path.open("rb") as file:
            for text in gettext.GNUTranslations(file)._catalog.values():  # type: ignore[attr-defined]
                phrases.add(re.sub(r"%\(\w+\)\w|%\w", "7", text).strip())
    return sorted(phrases)


def files(language: str, encoding: str, count: int, size: int):
    choose = random.Random(f"{language} {encoding} {size}")  # noqa: S311
    for number in range(count):
        text = ""
        while len(text) < size:
            phrase = choose.choice(phrases(language))
            words = " ".join(phrase.split()[:3])
            row = f"{words};{choose.randint(1, 9999)};{choose.choice(phrases(language))[:20]}\r\n"
            text += row if number % 2 else f"{phrase}\n"
        data = text.encode(encoding, "ignore")
        yield data.decode(encoding), data


def judged(count: int, sizes: list[int]):
    """Count what is read right and what is refused, by encoding. Yield what is read wrong."""
    right, seen, wrong = Counter(), Counter(), []
    for language, saved in SAVED.items():
        for encoding in saved.split():
            for size in sizes:
                for text, data in files(language, encoding, count, size):
                    found = encoding_of(data)
                    seen[encoding] += 1
                    if found and data.decode(found) == text:
                        right[encoding] += 1
                    elif found:
                        wrong.append((language, encoding, found, text[:40]))
    return right, seen, wrong


def test_no_letter_is_wrong_and_most_are_right():
    right, seen, wrong = judged(3, [200, 1000])
    assert wrong == []
    sure = seen.keys() - UNSURE
    assert sum(right[encoding] for encoding in sure) > 0.85 * sum(seen[encoding] for encoding in sure)


@pytest.mark.nightly
def test_of_thousands_of_files_hardly_one_is_wrong():
    right, seen, wrong = judged(25, [15, 40, 120, 1000])
    assert len(wrong) <= 0.002 * sum(seen.values()), wrong
    assert sum(right.values()) > 0.6 * sum(seen.values())


QUOTES = {"de": "„{}“", "fr": "« {} »", "es": "“{}”"}


def tables(language: str, rows: int, count: int):
    """Tables as Excel exports them: with euros, quotes, and the separators of texts and CSV files."""
    choose = random.Random(f"{language} {rows}")  # noqa: S311
    for number in range(count):
        table = StringIO()
        writer = csv.writer(table, delimiter="\t;,"[number % 3])
        for _ in range(rows):
            quoted = QUOTES[language].format(choose.choice(phrases(language)).split()[0])
            cells = [" ".join(choose.choice(phrases(language)).split()[:3]), f"{choose.randint(1, 999)},50 €", quoted]
            cells += [f'12 "{choose.randint(1, 9)}"', choose.choice(phrases(language))[:20]]
            writer.writerow(cells)
        data = table.getvalue().encode("cp1252", "ignore")
        yield data.decode("cp1252"), data


@pytest.mark.parametrize("language", QUOTES)
def test_tables_of_excel_are_read(language):
    for rows, least in ((1, 10), (5, 12), (30, 17)):
        read = 0
        for text, data in tables(language, rows, 18):
            found = encoding_of(data)
            assert not found or data.decode(found) == text
            read += bool(found)
        assert read >= least, rows


def test_one_letter_past_what_the_detector_reads_counts(monkeypatch):
    """What the rest of the file holds may prove it wrong."""
    monkeypatch.setattr(encodings, "SAMPLE_BYTES", 1000)
    data = ("Grüße aus Köln, viele schöne Grüße\n" * 100).encode("cp1252")
    assert encoding_of(data) == "cp1252"
    assert encoding_of(data + b"\x81\n") == ""


@pytest.mark.parametrize("size", [1, 2, 3, 8, 100, 5000])
def test_bytes_at_random_are_no_text(size):
    choose = random.Random(size)  # noqa: S311
    found = [encoding_of(bytes([choose.randrange(128, 256), *choose.randbytes(size)])) for _ in range(50)]
    assert size <= 8 or found.count("") == 50


@pytest.mark.parametrize(
    "data",
    [
        codecs.BOM_UTF16_LE,
        codecs.BOM_UTF16_LE + b"\x00\xd8\x00\x00",
        codecs.BOM_UTF16_BE + b"\x00",
        b"\x00" * 512 + b"ustar  \x00",
        b"a.txt" + b"\x00" * 95 + b"hello" + b"\x00" * 507,
        "\ufffe\uffff".encode("utf-16-le"),
        b"\x1b$BF|K\\8l\xff",
        "买牛奶和面包".encode("utf-16-le"),
        "Grüße aus Köln und Düsseldorf\n".encode() + b"\xff\n",
        "Grüße ж".encode()[:-1],
    ],
)
def test_broken_texts_and_other_files_are_refused(data):
    assert encoding_of(data) == ""
