"""The bytes of a WARC file, in which reading goes on behind a broken record."""

from __future__ import annotations

from contextlib import suppress
from typing import IO

from shingling.files.lines import reading_errors

_LINE = b"\nWARC/"  # that begins a record
_BYTES_BEHIND = 16  # a block that are looked at
_READ_AT_ONCE = 1 << 14
_MAX_KEPT_BYTES = 1 << 24  # of a record
_BYTES_READ_AGAIN = 1 << 30  # of a file


class RecordStream:
    """A stream of records, which can go back into the last one.

    fastwarc calls `read` and `tell`.

    Args:
        file: to read from, at its start.

    Attributes:
        start: place of the last record, or behind it.
        is_lenient: whether lines end in LF only, as in ClueWeb, and not in CRLF as they should.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.start = 0
        self._file = file
        self._kept = bytearray()  # from the start on
        self._next = 0  # place in the kept bytes
        self._left = _BYTES_READ_AGAIN
        self._read_on()
        first_line = self._kept.partition(b"\n")[0]
        self.is_lenient = first_line.startswith(_LINE[1:]) and not first_line.endswith(b"\r")
        # Behind the head of a record, and behind its block.
        self._empty_lines = b"\n\n" if self.is_lenient else b"\r\n\r\n"

    def read(self, size: int) -> bytes:
        """Read some bytes; none at the end."""
        if self._next == len(self._kept):
            if self._next > _MAX_KEPT_BYTES:
                self._forget(self._next)
            self._read_on()
        read = bytes(self._kept[self._next : self._next + size])
        self._next += len(read)
        return read

    def tell(self) -> int:
        """Give the place of the next byte."""
        return self.start + self._next

    def begin_record(self, start: int) -> None:
        """Note that a record begins here."""
        self._forget(start - self.start)

    def end_record(self, length: int) -> None:
        """Note that the block of the record is read, whose length is told.

        Raises:
            ValueError: it does not end there.
        """
        kept = self._kept
        if not kept.startswith(_LINE[1:]):
            return  # the record is so large that its start is not kept
        end = kept.find(self._empty_lines) + len(self._empty_lines) + length
        with suppress(*reading_errors()):
            while len(kept) < end + _BYTES_BEHIND and self._read_on():
                pass
        behind = kept[end : end + _BYTES_BEHIND]
        next_line = behind.lstrip() or _LINE[1:]
        if not (behind.startswith(self._empty_lines) or next_line.startswith(_LINE[1:])):
            raise ValueError("its length is wrong")
        self._forget(end)

    def pass_over(self) -> int:
        """Go to the next line that begins a record.

        Returns:
            The number of bytes up to it; 0 if there is none, or too many were read again.
        """
        start, kept = self.start, self._kept
        self._left -= self._next
        at = len(self._empty_lines) if kept.startswith(self._empty_lines) else 0
        with suppress(*reading_errors()):
            while (place := kept.find(_LINE, at)) < 0:
                at = 0
                self._forget(len(kept) - len(_LINE))
                if not self._read_on():
                    return 0
            self._forget(place + 1)
            self._next = 0
            return self.start - start if self._left > 0 else 0
        return 0

    def _forget(self, number: int) -> None:
        """Let go of the first bytes that are kept."""
        del self._kept[:number]
        self.start += number
        self._next -= number

    def _read_on(self) -> bool:
        read = self._file.read(_READ_AT_ONCE)
        self._kept += read
        return bool(read)
