"""Semantic similarity: a local embedding model, and the vectors of files in a cache on disk.

A model is a folder in the layout of sentence-transformers and its ONNX exports. It contains
``tokenizer.json`` and an ONNX file of a BERT-like encoder. Unless the model uses mean pooling over
256 tokens, it also contains ``1_Pooling/config.json`` and ``sentence_bert_config.json``. Nothing is
downloaded.

The vectors of each model are in one SQLite file in the cache folder of a brain. Their key is the
digest of the encoded file. The cache may be deleted at any time. The vectors of unchanged files are
used again after a rebuild of the index.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lessons_kb.config import Gate
from lessons_kb.errors import ModelMissing, StorageError
from lessons_kb.model import Hit
from lessons_kb.search.engine_protocol import K1, idf
from lessons_kb.search.semantic_extra import (
    MODEL_PACKAGE,
    find_absent_libraries,
    find_packaged_model,
)
from lessons_kb.values import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray


Floats: TypeAlias = "NDArray[np.float32]"


_TOKENIZER = "tokenizer.json"
_FILES = tuple(
    f"{folder}model{form}.onnx"
    for form in ("", "_quantized", "_optimized")
    for folder in ("", "onnx/")
)
"""The names of the encoder's file in exports, of which the first that exists is used."""
_MAX_TOKENS = 256
_BATCH = 16
_MOST_TOKENS = 0.85
"""The maximum number of tokens per character in a script that the model knows."""
_WORTH_OPTIMISING = 16
"""The number of calls after which the model is optimised, which takes 0.5 s and saves 10 ms per
call."""
_UNKNOWN = ("[UNK]", "<unk>")


_SLASHES = ("/", "\\")


def find_model(name: str, *, root: str) -> str:
    """Return the folder of the model ``name``: a path, or a name in the Hugging Face cache.

    A relative path starts at ``root``. Nothing is downloaded. Raises ModelMissing with advice.
    """
    if name[:1] in _SLASHES and name[1:2] in _SLASHES:
        # Windows would send the user's name to a host that the author of the settings chose.
        raise ModelMissing(
            f"semantic.model = {name!r} is on a network; copy the folder to this machine"
        )
    folder = os.path.join(root, os.path.expanduser(name))
    for place in (folder, *_snapshots(name)):
        if os.path.isfile(os.path.join(place, _TOKENIZER)):
            return os.path.realpath(place)
    fault = f"it has no {_TOKENIZER}" if os.path.isdir(folder) else "no such folder"
    raise ModelMissing(
        f"semantic.model = {name!r}: {fault}; name a folder that holds {_TOKENIZER} and "
        f"{_FILES[0]}, or a model that is in the Hugging Face cache"
    )


def _snapshots(name: str) -> Iterator[str]:
    """Yield the folder of the model with this name in the Hugging Face cache, if there is one."""
    if name.count("/") != 1 or name.startswith(("/", ".", "~")):
        return
    home = os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")
    hub = os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
    folder = os.path.join(hub, "models--" + name.replace("/", "--"))
    try:
        with open(os.path.join(folder, "refs", "main"), encoding="utf-8") as file:
            yield os.path.join(folder, "snapshots", file.read().strip())
    except (OSError, UnicodeDecodeError):
        return


@lru_cache(maxsize=2)
def open_model(folder: str) -> Model:
    """Load the model in ``folder``, once per process.

    Raises ModelMissing if a library or a file is missing or cannot be used.
    """
    absent = find_absent_libraries()
    if absent:
        raise ModelMissing(
            f"semantic search is off: {', '.join(absent)} not installed; "
            "`lessons doctor` names the command that installs them"
        )
    paths = [os.path.join(folder, name) for name in _FILES]
    encoder = next(filter(os.path.isfile, paths), None)
    if encoder is None:
        raise ModelMissing(f"no ONNX file in {folder}; it should hold {' or '.join(_FILES)}")
    return Model(encoder, os.path.join(folder, _TOKENIZER), folder=folder)


@lru_cache(maxsize=1)
def open_packaged_model() -> Model:
    """Load the model that comes with the extra, once per process. Raises ModelMissing."""
    files = find_packaged_model()
    if files is None:
        raise ModelMissing(
            f"semantic search is off: {MODEL_PACKAGE} not installed; "
            "`lessons doctor` names the command that installs it"
        )
    return Model(files.encoder, files.tokenizer, folder=os.path.dirname(files.tokenizer))


class Model:
    """A loaded encoder. Threads may share it."""

    def __init__(self, path: str, tokenizer: str, *, folder: str) -> None:
        """Load an encoder and its tokenizer.

        ``folder`` may contain files about pooling and limits.
        """
        from tokenizers import Tokenizer

        pooling = _read_json(folder, "1_Pooling", "config.json")
        limits = _read_json(folder, "sentence_bert_config.json")
        try:
            self._tokenizer = Tokenizer.from_file(tokenizer)
            self._session: Any = _start(path, optimised=False)
            longest = min(int(limits.get("max_seq_length") or _MAX_TOKENS), _MAX_TOKENS)
        except Exception as error:  # both libraries raise plain exceptions for an invalid file
            raise ModelMissing(
                f"the model in {folder} cannot be loaded ({' '.join(str(error).split())}); "
                "name another one in semantic.model"
            ) from None
        self._path = path
        self._calls = 0
        self._tokenizer.enable_truncation(longest)
        self._tokenizer.no_padding()
        self._unknown = next(filter(None, map(self._tokenizer.token_to_id, _UNKNOWN)), None)
        self._first_token = pooling.get("pooling_mode_cls_token") is True
        self._inputs = [model_input.name for model_input in self._session.get_inputs()]
        self.key = _digest(path, tokenizer, str(longest))
        """A digest of the model. Vectors of different keys cannot be compared."""
        self.size = int(self._encode_batch([self._tokenizer.encode("a").ids]).shape[1])
        """The dimension of the vectors."""

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one unit vector per text, in order, as an array of shape (texts, ``size``).

        Only the first 256 tokens of a text are used. A text in a script that the model does not
        know gets a vector of zeros, because its cosines would be meaningless.
        """
        self._calls += 1
        if self._calls == _WORTH_OPTIMISING:
            self._session = _start(self._path, optimised=True)
        encodings = self._tokenizer.encode_batch(list(texts))
        usable = [n for n, encoding in enumerate(encodings) if self._knows(encoding)]
        usable.sort(key=lambda number: len(encodings[number].ids))
        vectors = np.zeros((len(encodings), self.size), dtype=np.float32)
        for start in range(0, len(usable), _BATCH):
            part = usable[start : start + _BATCH]
            vectors[part] = self._encode_batch([encodings[number].ids for number in part])
        return vectors

    def _knows(self, encoding: Any) -> bool:
        """Return whether the tokenizer knows the words of a text.

        It splits unknown words into letters. English has one token for four or five letters, and
        code has one for two or three. Korean has more than one token per syllable if the model has
        not learnt Korean, and half a token if it has.
        """
        letters = length = 0
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            letters += end - start + 1 if token == self._unknown else int(end > start)
            length = max(length, end)
        return 0 < letters <= _MOST_TOKENS * length

    def _encode_batch(self, tokens: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(tokens):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {name: arrays[name] for name in self._inputs})[0]
        if states.ndim < len(("texts", "tokens", "size")):
            pooled = states  # the exported model includes pooling
        elif self._first_token:
            pooled = states[:, 0]
        else:
            weights = mask[:, :, None].astype(np.float32)
            pooled = (states * weights).sum(axis=1) / weights.sum(axis=1)
        length = np.linalg.norm(pooled, axis=1, keepdims=True)
        vectors: Floats = (pooled / np.maximum(length, 1e-9)).astype(np.float32)
        return vectors


def _start(path: str, *, optimised: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_DISABLE_ALL
    # The arena keeps the buffers of the largest batch: 250 MB in a daemon that encodes files.
    options.enable_cpu_mem_arena = False
    # Waiting threads would otherwise spin and occupy the cores that the caller needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _read_json(*parts: str) -> dict[str, Any]:
    try:
        with open(os.path.join(*parts), encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _digest(*parts: str) -> str:
    """Return a digest of a model: the names, sizes and times of its files, and its limits."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode())
        if os.path.isfile(part):
            status = os.stat(part)
            digest.update(f" {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()


FORMAT = 2
"""The version of the texts that are encoded. After a change, all files are encoded again."""
_PREFIX = "vectors-"


class Vectors:
    """The vectors of one model in one cache folder. Only one thread may use it at a time.

    Every method raises StorageError if the file cannot be accessed or is damaged.
    """

    def __init__(self, folder: str, model: str) -> None:
        """Open or create the file, and remove the files of other models.

        A damaged file is replaced by an empty one. Raises StorageError if opening fails.
        """
        self._path = os.path.join(folder, f"{_PREFIX}{FORMAT}-{model}.db")
        self._replaced = 0
        """The number of times that a damaged file was replaced."""
        try:
            self._db = _open(self._path)
        except sqlite3.Error as error:
            raise StorageError(f"cannot open {self._path}: {error}; check the folder") from None
        for other in glob.glob(os.path.join(glob.escape(folder), f"{_PREFIX}*.db")):
            if other != self._path:
                _remove(other)

    def find_absent(self, digests: Iterable[str]) -> list[str]:
        """Return the digests that have no vectors, each once, in order."""
        with self._translating():
            stored = {digest for (digest,) in self._db.execute("SELECT digest FROM vectors")}
        return [digest for digest in dict.fromkeys(digests) if digest not in stored]

    def add(self, vectors: Iterable[tuple[str, Floats]]) -> None:
        """Store the vectors (rows) of each digest."""
        records = [(digest, len(rows), rows.astype("<f2").tobytes()) for digest, rows in vectors]
        with self._translating(), self._db:
            self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", records)

    def keep_only(self, digests: Collection[str]) -> None:
        """Remove the vectors of every other digest."""
        with self._translating(), self._db:
            stored = self._db.execute("SELECT digest FROM vectors").fetchall()
            removed = [row for row in stored if row[0] not in digests]
            self._db.executemany("DELETE FROM vectors WHERE digest = ?", removed)

    def read(self, digests: Sequence[str]) -> tuple[list[int], Floats]:
        """Return all vectors as rows, and the position of each row's digest in ``digests``.

        The positions are in ascending order.
        """
        stored: dict[str, tuple[int, bytes]] = {}
        with self._translating():
            for digest, count, data in self._db.execute("SELECT * FROM vectors"):
                stored[digest] = count, data
        places: list[int] = []
        parts: list[bytes] = []
        for place, digest in enumerate(digests):
            count, data = stored.get(digest, (0, b""))
            places += [place] * count
            parts.append(data)
        rows = np.frombuffer(b"".join(parts), dtype="<f2")
        return places, rows.reshape(len(places) or 1, -1)[: len(places)].astype(np.float32)

    def version(self) -> tuple[int, int, int]:
        """Return numbers that change when this or another process changes or replaces the file."""
        with self._translating():
            (others,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(others), self._db.total_changes, self._replaced

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextlib.contextmanager
    def _translating(self) -> Iterator[None]:
        """Raise errors of SQLite as StorageError, and replace a damaged file by an empty file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise StorageError(
                f"cannot use {self._path}: {error}; free space or wait a moment"
            ) from None
        except sqlite3.DatabaseError:
            self._db.close()
            _remove(self._path)
            self._db = _open(self._path)
            self._replaced += 1
            raise StorageError(
                f"{self._path} was damaged and has been reset; run `lessons index`"
            ) from None


def _open(path: str) -> sqlite3.Connection:
    """Open the file. A damaged file is replaced by an empty file."""
    db = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
    try:
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(
            "CREATE TABLE IF NOT EXISTS vectors (digest TEXT PRIMARY KEY, count INTEGER NOT NULL,"
            " vectors BLOB NOT NULL) WITHOUT ROWID"
        )
        db.execute("SELECT * FROM vectors LIMIT 1").fetchone()
    except sqlite3.DatabaseError as error:
        db.close()
        if isinstance(error, sqlite3.OperationalError):
            raise
        _remove(path)
        if os.path.exists(path):
            raise
        return _open(path)
    return db


def _remove(path: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(OSError):
            os.remove(path + suffix)


NEAREST = 32
"""The maximum number of cards that are candidates only because of their similarity."""
FARTHEST = 0.3
"""The minimum cosine of such a card, which is a distance of 0.7."""
NEAR_DUPLICATE = 0.7
"""The minimum cosine of two cards that may be the same lesson, which is a distance of 0.3."""

_WEIGHT = 1.0
"""The weight of a cosine of 1, in units of a good BM25 score for the query."""
_LEAST = 0.25
"""The minimum share of the highest possible BM25 score that makes a score good."""
# Log odds = WORDS logit(confidence by words) + MEANING cosine + BIAS. If the ratio of the two
# weights is 8 to 12, most correct cards of four brains pass at 2 % and 10 % of unrelated prompts.
# With the bias, about 2 % of unrelated prompts reach 0.5.
_WORDS = 0.4
_MEANING = 4.0
_BIAS = -1.35
_FLOOR = 0.05
"""The minimum confidence by words that is used, since a card without a shared word may still
fit."""


def compute_most(terms: Mapping[str, float], frequencies: Mapping[str, int], size: int) -> float:
    """Return the highest BM25 score that a card can have for a query."""
    weighted = [weight * idf(frequencies.get(term, 0), size) for term, weight in terms.items()]
    return (K1 + 1) * sum(weighted)


def widen(
    scores: Mapping[int, float], above: Mapping[int, float], *, most: float
) -> dict[int, float]:
    """Return the amounts that similarity adds to BM25 scores, by the number of the card.

    ``scores`` are the BM25 scores of the candidates, ``above`` is the difference of each cosine
    from the mean of the brain, and ``most`` is the result of `compute_most`. Cards to which
    similarity adds nothing are left out.
    """
    top = max(scores.values(), default=0.0)
    unit = sqrt(max(top, _LEAST * most) * most) or 1.0
    return {
        number: _WEIGHT * unit * difference
        for number, difference in above.items()
        if difference > 0
    }


def judge_meaning(
    hits: Iterable[Hit], cosines: Mapping[str, float | None], gate: Gate
) -> list[Hit]:
    """Return the hits with the gate's verdict on words and similarity together.

    ``cosines`` maps the id of a card to its cosine with the query. The verdict on words remains for
    a card without a cosine, and for a card that guards a file of the query.
    """
    judged = []
    for hit in hits:
        cosine = cosines.get(hit.card.id)
        if cosine is None or any(name == "path" for name, _ in hit.factors):
            judged.append(hit)
            continue
        words = min(max(hit.confidence, _FLOOR), 1 - _FLOOR)
        odds = _WORDS * log(words / (1 - words)) + _MEANING * cosine + _BIAS
        confidence = round(1 / (1 + exp(-odds)), 4)
        passed = confidence >= gate.min_confidence
        meaning = f"{'near' if passed else 'suppressed: not near enough'} in meaning ({cosine:.2f})"
        reason = f"{meaning}; {hit.reason.removeprefix('suppressed: ')}"
        judged.append(replace(hit, confidence=confidence, passed=passed, reason=reason))
    return judged
