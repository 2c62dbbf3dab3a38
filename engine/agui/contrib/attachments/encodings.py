"""The encoding of a text file: which one it is, if that is sure.

Wrong letters are worse than a refusal, so a text is only read if no other likely encoding would
make another text of it that could be one, too.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import chardet

# How much of a file the detector reads: lines with letters other than ASCII's, until there are
# this many bytes.
SAMPLE_BYTES = 64 * 1024

BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",  # first: it begins as UTF-16's does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")

# Encodings of files that people have, by the detector's names.
KNOWN = [
    *("big5hkscs", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "cp866"),
    *("cp874", "cp932", "cp949", "euc_jis_2004", "euc_kr", "gb18030", "iso8859-1", "iso8859-15"),
    *("iso8859-2", "iso8859-5", "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-9", "koi8-r"),
    *("koi8-u", "shift_jis_2004", "tis-620"),
]
# What the letters of an encoding are read as: Windows adds some to them.
READ_AS = {"iso8859-1": "cp1252", "iso8859-9": "cp1254", "tis-620": "cp874", "euc_kr": "cp949"}
# Encodings that are never taken for sure, but make others unsure.
RIVALS = ["cp437", "cp850", "cp852", "cp1257", "cp1258", "iso8859-13", "mac-roman"]
# A rival's text must be less likely by a factor. With few letters to judge by it is smaller:
# smaller still against Windows' Western encoding, which most files have, and if some letters are
# Icelandic, which are others in Turkish and Lithuanian.
FACTOR, FACTOR_OF_FEW, FACTOR_OF_WESTERN, FACTOR_OF_ICELANDIC = 0.9, 0.75, 0.4, 0.3
FEW = 12
ICELANDIC = set("ÐðÞþ")
# UTF-16 without zero bytes is never found to be likelier than this in another encoding.
LEAST_IF_WIDE = 0.05

# Signs that only Windows' encodings have, and all of them: euros beside an amount, quotes around
# words, a dash between blanks. Elsewhere these bytes are letters, which don't stand so, or nothing.
SIGNS = re.compile(
    rb"(?<=\d)[ \xa0]?\x80(?![\w\x80-\xff])|(?<![\w\x80-\xff])\x80[ \xa0]?(?=\d)|(?<= )\x96(?= )|"
    rb"(?<![\w\x80-\xff])[\x84\x93](?=\w)([^\x80-\x9f\t;\r\n]{1,99})[\x93\x94](?![\w\x80-\xff])"
)
WITHOUT_SIGNS = re.compile("iso8859|cp437|cp850|cp852|mac-roman")

WORD = re.compile(r"[^\W\d_]+")
# Invisible signs of Arabic and Hebrew.
JOINED_LATIN = re.compile(r"[a-zA-Z][\u200c-\u200f]")
# What may be within a word: apostrophes, dashes, dots, quotes.
BETWEEN = (
    r"\u2019\u2018\u00b4`\u00b7\u2010\u2013\u2014\u2026"
    r"\u201c\u201d\u201e\u00ab\u00bb\uff0f\u30fb\u3001\u3002"
)
IN_WORD = re.compile(rf"([^\W\d_])([^\w\s\x00-\x7f{BETWEEN}]+)([^\W\d_])")
TEXT_CONTROLS = set("\a\b\t\n\v\f\r\x1b")
# Scripts without spaces between words: a word of another one may be right beside theirs.
UNSPACED = {
    *("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO", "IDEOGRAPHIC"),
    *("HALFWIDTH", "FULLWIDTH", "THAI", "MODIFIER"),
}


def encoding_of(data: bytes) -> str:
    """Return the encoding of a text; "" if it is not sure, or if the file is not a text."""
    for mark, encoding in BOMS.items():
        if data.startswith(mark):
            return encoding if _reading(data, encoding) else ""
    if b"\0" in data:
        return _wide_encoding(data)
    if data.isascii() and b"\x1b$" in data:
        return "iso2022_jp_2" if _reading(data, "iso2022_jp_2") else ""
    if _reading(data, "utf-8"):
        return "utf-8"
    if _is_broken_utf8(data):
        return ""
    encoding = _detected(_sample(data), LEAST_IF_WIDE if _may_be_wide(data) else 0)
    return encoding if encoding and _reading(data, encoding) else ""


def _reading(data: bytes, encoding: str) -> str:
    """Return the text; "" if it has what no text has, such as control characters."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return ""
    return text if all(map(_is_of_text, set(text))) else ""


def _is_of_text(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cc":
        return character in TEXT_CONTROLS
    return category not in ("Cn", "Co", "Cs") and character != "\ufffd"


def _wide_encoding(data: bytes) -> str:
    """Find the encoding of a text with zero bytes.

    Few of them in UTF-8 are an accident, as in a log that was written while the power failed.
    """
    likely: dict[str, int] = {}
    for encoding in WIDE:
        text = _reading(data, encoding)
        if text and _is_plausible(text):
            likely[encoding] = sum(map(str.isascii, text))
    if not likely:
        is_text = data.count(b"\0") * 10 <= len(data) and b"\0\0" not in data
        return "utf-8" if is_text and _reading(data.replace(b"\0", b""), "utf-8") else ""
    best = max(likely, key=likely.__getitem__)
    others = max((count for encoding, count in likely.items() if encoding != best), default=-1)
    return best if likely[best] > 3 * others else ""


def _sample(data: bytes) -> bytes:
    lines: list[bytes] = []
    size = 0
    for line in data.split(b"\n"):
        if not line.isascii():
            lines.append(line)
            size += len(line)
            if size > SAMPLE_BYTES:
                break
    return b"\n".join(lines)


def _detected(sample: bytes, floor: float) -> str:
    """Return the encoding that the detector finds likely, and all others less so."""
    has_signs = SIGNS.search(sample)
    letters = SIGNS.sub(rb"\1", sample)
    if has_signs and letters.isascii():
        return "cp1252"
    readings = list(_readings(letters))
    if has_signs:
        readings = [reading for reading in readings if not WITHOUT_SIGNS.match(reading[0])]
    if not readings:
        return ""
    name, text, confidence = readings[0]
    if name not in KNOWN or confidence < floor or not _is_plausible(text):
        return ""
    few = sum(not character.isascii() for character in text) < FEW
    factor = FACTOR_OF_FEW if few else FACTOR
    if few and ICELANDIC & set(text):
        factor = FACTOR_OF_ICELANDIC
    for rival, other, likelihood in readings:
        least = FACTOR_OF_WESTERN if few and rival == "cp1252" else factor
        if other != text and likelihood >= confidence * least and _is_plausible(other):
            return ""
    return READ_AS.get(name, name)


def _readings(sample: bytes) -> Iterator[tuple[str, str, float]]:
    """Read a text in each encoding that it could have, the likeliest first."""
    # The threshold would hide the rivals.
    for guess in chardet.detect_all(sample, ignore_threshold=True, compat_names=False):
        name = guess["encoding"] or ""
        if name not in (*KNOWN, *RIVALS):
            continue
        try:
            yield name, sample.decode(name), guess["confidence"]
        except UnicodeDecodeError:
            continue


def _is_broken_utf8(data: bytes) -> bool:
    """Whether most letters are UTF-8's, or only the last one is cut off."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        text = data.decode("utf-8", "ignore")
        valid = len(text.encode()) - sum(map(str.isascii, text))
        return valid > 0.8 * sum(byte > 127 for byte in data)
    return True


def _may_be_wide(data: bytes) -> bool:
    """Whether this could be UTF-16 without zero bytes: nothing but Chinese, for example."""
    for encoding in WIDE[:2]:
        text = _reading(data, encoding)
        if text and all(map(_is_unspaced, text)):
            return True
    return False


def _is_plausible(text: str) -> bool:
    """Whether words are of one script, and begin with their capital letters."""
    if not all(map(_is_of_text, set(text))) or JOINED_LATIN.search(text):
        return False
    if any(not _is_word(word) for word in set(WORD.findall(text)) if not word.isascii()):
        return False
    return not any(_is_symbol(*match) for match in IN_WORD.findall(text))


def _is_symbol(before: str, between: str, after: str) -> bool:
    """Whether there is a symbol within a word, and not a mark above or below a letter."""
    if _is_unspaced(before) or _is_unspaced(after):
        return False
    return any(unicodedata.category(character)[0] not in "MC" for character in between)


def _is_word(word: str) -> bool:
    scripts = {_script(character) for character in word if not unicodedata.combining(character)}
    if scripts & UNSPACED:
        return scripts - UNSPACED <= {"LATIN"}
    if len(scripts - {"FEMININE", "MASCULINE"}) > 1:
        return False
    for first, second in pairwise(word):
        if first.islower() and second.isupper() and not (first + second).isascii():
            return False
    return True


def _is_unspaced(character: str) -> bool:
    return _script(character) in UNSPACED


@lru_cache(4096)
def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]
