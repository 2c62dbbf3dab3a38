"""A line as it is typed, key by key, while the terminal shows something else."""

import codecs
import re
from collections.abc import Iterator

ENTER, ALT_ENTER = ("\r", "\n"), ("\x1b\r", "\x1b\n")
DELETE, DELETE_LINE, DELETE_WORD = ("\x7f", "\b"), "\x15", "\x17"
# A key: Alt with another one, an arrow or function key, or a character.
KEYS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO.|\x1b[^\[O]|[^\x1b]", re.DOTALL)
# The beginning of a key whose rest is on its way.
UNFINISHED = re.compile(r"\x1b(\[[0-9;?]*[ -/]*|O)?\Z")


class TypedLine:
    def __init__(self) -> None:
        self.text = ""
        self._keys = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, data: bytes) -> Iterator[tuple[str, bool]]:
        """Take what was typed. Yield each line that ends, and whether Alt was held at its end."""
        keys = self._keys + self._decoder.decode(data)
        rest = UNFINISHED.search(keys)
        self._keys = rest[0] if rest else ""
        for key in KEYS.findall(keys.removesuffix(self._keys)):
            if key in ENTER or key in ALT_ENTER:
                line, self.text = self.text, ""
                yield line, key in ALT_ENTER
            else:
                self._press(key)

    def _press(self, key: str) -> None:
        if key in DELETE:
            self.text = self.text[:-1]
        elif key == DELETE_LINE:
            self.text = ""
        elif key == DELETE_WORD:
            self.text = re.sub(r"\S*\s*$", "", self.text)
        elif key == "\t" or key.isprintable():
            self.text += key
