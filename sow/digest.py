"""SHA-256 without OpenSSL, which `hashlib` loads before it is asked for anything (2.6 ms).

Python's own code stands beside it in a module of its own; `random` of the standard library
reaches for its sibling in the same way. Digests of large files are better left to `hashlib`.
"""

try:
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]  # Python 3.11
    except ImportError:  # a Python without them
        from hashlib import sha256

__all__ = ["sha256"]
