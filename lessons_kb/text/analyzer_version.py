"""The version of the analyzer, without its lists of words."""

from __future__ import annotations

import Stemmer

_OWN_VERSION = 2
_MAJOR, _MINOR = map(int, Stemmer.version().split(".")[:2])
ANALYZER_VERSION = _OWN_VERSION * 10_000 + _MAJOR * 100 + _MINOR
"""The version that is stored with an index. An index of another version is rebuilt. It includes the
version of the stemmer, because Snowball corrects its rules from time to time."""
