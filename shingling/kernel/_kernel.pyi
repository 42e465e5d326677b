from _typeshed import ReadableBuffer

def fingerprints(joined: bytes, size: int, key: bytes = b"", /) -> bytes: ...
def fold_words(
    text: str, table: ReadableBuffer, is_folded: bool, /
) -> tuple[bytes, bytes] | None: ...
def sign(
    joined: bytes, functions: ReadableBuffer, size: int, low: int, high: int, /
) -> tuple[bytes, int, int]: ...
def says_more(
    text: str,
    other: str,
    table: ReadableBuffer,
    min_words: int,
    key: bytes,
    folded: str = "",
    other_folded: str = "",
    /,
) -> bool | None: ...
