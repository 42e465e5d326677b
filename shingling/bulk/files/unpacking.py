"""Archives as streams of bytes, unpacked as they are read, and within limits.

Decompressors of the standard library are used directly: its files of xz set no limit to the
memory that a dictionary takes, and its files of gzip do not tell where a member starts.
"""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from typing import IO, TYPE_CHECKING, Protocol

from shingling.bulk.files.pages import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_UNPACKED_RATIO = 250
"""Bytes that an archive may give for each of its own, from `UNPACKED_BYTES_ALLOWED` on."""

UNPACKED_BYTES_ALLOWED = 1 << 28
"""Bytes that an archive may give, however small it is."""

MAX_XZ_BYTES = 1 << 27
"""Memory that unpacking xz may take: the dictionary of `xz -9` is half as large."""

_PACKED_BYTES_AT_ONCE = 1 << 13  # of many small gzip members, the rest is copied for each one
_UNPACKED_BYTES_AT_ONCE = 1 << 16
_MAX_TRIALS = 10_000  # to find another member behind a broken one, where there was none
_GZIP = b"\x1f\x8b\x08"


class DamagedError(ArchiveError):
    """The archive cannot be unpacked at a place in its middle."""


class EntryTooLongError(Exception):
    """An entry reaches into a gzip member that another entry begins with."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gunzip:
    """A decompressor of a gzip member with the methods that those of bz2 and lzma have."""

    def __init__(self) -> None:
        self._gunzip = zlib.decompressobj(16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._gunzip.eof

    @property
    def unused_data(self) -> bytes:
        return self._gunzip.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        piece = self._gunzip.decompress(self._gunzip.unconsumed_tail + data, max_length)
        self.needs_input = not self._gunzip.unconsumed_tail and len(piece) < max_length
        return piece


def _unxz() -> _Decompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, MAX_XZ_BYTES)


def _decompressor_of(packed: bytes) -> Callable[[], _Decompressor] | None:
    """Decompressor for what starts with these bytes; None if it is not packed."""
    if packed.startswith(_GZIP):
        return _Gunzip
    if packed.startswith(b"\xfd7zXZ\0"):
        return _unxz
    # Three letters alone could be the start of a file name.
    return bz2.BZ2Decompressor if re.match(rb"BZh[1-9](1AY&SY|\x17rE8P)", packed) else None


class Unpacked:
    """The bytes of an archive, which is unpacked if it starts as gzip, bzip2 or xz does.

    Args:
        file: the archive, at its start.
        start: what the content of a gzip member begins with if an entry starts there; b"" if
            entries may start anywhere.

    Raises:
        ArchiveError: here and in all methods, the archive ends early or is too large.
        DamagedError: here and in all methods, it cannot be unpacked.
        EntryTooLongError: in all methods, in an entry or behind bytes that belong to none.
    """

    def __init__(self, file: IO[bytes], start: bytes = b"") -> None:
        self._start = start
        self.is_in_entry = False
        self._file = file
        self._packed = file.read(_PACKED_BYTES_AT_ONCE)
        self._make = _decompressor_of(self._packed)
        self._decompressor = self._make() if self._make else None
        size = file.seek(0, 2)
        file.seek(len(self._packed))
        self._max_bytes = max(UNPACKED_BYTES_ALLOWED, size * MAX_UNPACKED_RATIO)
        self._given = 0
        self._member = 0  # place of the member in the file
        self._trials = 0
        self._waiting = bytearray()
        self.position = 0

    @property
    def place(self) -> str:
        """Where the next byte is, for a message."""
        return f"byte {self.position:,}"

    def ended(self) -> ArchiveError:
        """Error for an end in the middle of an entry."""
        end = self.position + len(self._waiting)
        return ArchiveError(f"it ends in the middle of an entry, at byte {end:,}")

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes; fewer only at the end."""
        while len(self._waiting) < size and self._more():
            pass
        piece = bytes(self._waiting[:size])
        del self._waiting[:size]
        self.position += len(piece)
        return piece

    def line(self, max_bytes: int) -> bytes:
        """Read up to the end of a line, or `max_bytes`."""
        looked = 0
        while (end := self._waiting.find(b"\n", looked)) < 0 and len(self._waiting) < max_bytes:
            looked = len(self._waiting)
            if not self._more():
                break
        return self.read(min(end + 1, max_bytes) if end >= 0 else max_bytes)

    def skip(self, size: int) -> None:
        """Skip bytes.

        Raises:
            ArchiveError: there are fewer.
        """
        while size > 0:
            piece = min(size, len(self._waiting))
            del self._waiting[:piece]
            self.position += piece
            size -= piece
            if size > 0 and not self._more():
                raise self.ended()

    def skip_to(self, mark: bytes) -> bool:
        """Skip the bytes before a mark; False if it does not come again."""
        while (found := self._waiting.find(mark)) < 0:
            self.skip(max(len(self._waiting) - len(mark) + 1, 0))
            if not self._more():
                return False
        self.skip(found)
        return True

    def skip_member(self) -> bool:
        """Skip what is left of a gzip member that is damaged.

        Returns:
            False if no other entry starts a member, or the file is not packed by gzip.
        """
        if self._make is not _Gunzip or not self._start:
            return False
        self._waiting.clear()
        place = self._member + 1
        while self._trials < _MAX_TRIALS:
            self._file.seek(place)
            block = self._file.read(_PACKED_BYTES_AT_ONCE)
            found = block.find(_GZIP)
            if found < 0:
                if len(block) < len(_GZIP):
                    return False
                place += len(block) - len(_GZIP) + 1
                continue
            place += found
            if self._starts_member(place):
                return True
            place += 1
        return False

    def _starts_member(self, place: int) -> bool:
        """Continue at a place of the file if an entry starts a gzip member there."""
        self._trials += 1
        self._file.seek(place)
        self._packed = self._file.read(_PACKED_BYTES_AT_ONCE)
        try:
            is_one = _Gunzip().decompress(self._packed, len(self._start)) == self._start
        except zlib.error:
            return False
        if is_one:
            self._trials -= 1
            self._member, self._decompressor = place, _Gunzip()
        return is_one

    def _more(self) -> bool:
        """Unpack another piece; False at the end."""
        member = self._member
        try:
            piece = self._next_piece()
        except EOFError:
            raise self.ended() from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            raise DamagedError(str(error)) from error
        self._given += len(piece)
        if self._decompressor is not None and self._given > self._max_bytes:
            raise ArchiveError(f"it gives more than {self._max_bytes:,} bytes, unpacked")
        is_start = self._start and self._member != member and piece.startswith(self._start)
        if is_start and (self.is_in_entry or self._waiting.strip()):
            self.position += len(self._waiting)
            self._waiting[:] = piece
            raise EntryTooLongError
        self._waiting += piece
        return bool(piece)

    def _next_piece(self) -> bytes:
        if self._decompressor is None:
            piece, self._packed = self._packed, b""
            return piece or self._file.read(_UNPACKED_BYTES_AT_ONCE)
        while True:
            if self._decompressor.eof and not self._next_member():
                return b""
            if not self._packed and self._decompressor.needs_input:
                self._packed = self._file.read(_PACKED_BYTES_AT_ONCE)
                if not self._packed:
                    raise EOFError
            packed, self._packed = self._packed, b""
            piece = self._decompressor.decompress(packed, _UNPACKED_BYTES_AT_ONCE)
            if self._decompressor.eof:
                self._packed = self._decompressor.unused_data
            if piece:
                return piece

    def _next_member(self) -> bool:
        """Begin with another stream behind the one that has ended; False if there is none."""
        assert self._make is not None
        while not self._packed.strip(b"\0"):
            self._packed = self._file.read(_PACKED_BYTES_AT_ONCE)
            if not self._packed:
                return False
        self._packed = self._packed.lstrip(b"\0")
        self._member = self._file.tell() - len(self._packed)
        self._decompressor = self._make()
        return True
