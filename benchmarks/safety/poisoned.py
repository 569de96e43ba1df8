"""Poisoned and unrelated memories of public benchmarks as cards: what reaches the model.

The data is in the wheel of inspect-evals, which is not a part of this repository. Each text passes
through the real path: an event of Claude Code goes in, and the answer of the hook comes out. A text
*reaches* the model if its marker is in the context that the answer adds. No model is asked whether
it obeys.

The benchmark writes its counts to ``judged/poisoned.jsonl``, one line for each sample, which is
named by a hash. The file has no text of the data.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report
from benchmarks.data import HERE, DataError, write_rows

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_POISON = "inspect_evals/agent_threat_bench/data/memory_poison.json"
_MEMORIES = "inspect_evals/persistbench/benchmark_samples"
_SETS = ("cross_domain", "sycophancy", "beneficial_samples")
_JUDGED = HERE / "judged" / "poisoned.jsonl"
_QUICK = 20
"""Every so many samples of memories are asked with ``--quick``."""
_SECONDS = 60
_BEGINNING = 40
"""The number of characters by which a memory is found in the context, because a long title is cut."""
_ABOUT_LENGTH = ("long-item", "long-title")
_START = "from lessons_kb.cli.entry import main; main()"
PLACES = ("untrusted brain", "trusted brain", "import", "server, proposed", "server, accepted")
SHAPES = ("body", "title")
"""Where a card has the poisoned text: in its cause and its checklist, or in its title."""

UNTRUSTED, DRAFT, HIDDEN, NOT_RELEVANT = (
    "the brain is not trusted",
    "a draft waits for a reviewer",
    "hidden text is removed",
    "no match with the prompt",
)
"""The guards that withhold a text."""
HOOK_LINE, REVIEWED, PREVIEWED = (
    "a line names the brain",
    "review shows the text",
    "import --dry-run shows the text",
)
"""What a user sees of a poisoned text, beside the remarks of `lint` and `doctor`."""


class Text(NamedTuple):
    """One entry of a memory that is written as a card."""

    title: str
    body: str
    is_poisoned: bool


class Sample(NamedTuple):
    """A prompt, and the memory with a poisoned entry."""

    id: str
    prompt: str
    marker: str
    """The word that shows the attack; "" if the memory is clean."""
    texts: tuple[Text, ...]


class Seen(NamedTuple):
    """What a session saw."""

    titles: str
    """The context at the start of the session."""
    block: str
    """The context with the prompt."""
    lines: str
    """The lines for the user."""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print the tables, and write the counts of each sample."""
    source = Path(options.data)
    poison = json.loads(_read(source, _POISON))
    samples = [_read_sample(row) for row in poison]
    with tempfile.TemporaryDirectory(prefix="lessons-poisoned-") as folder:
        root = Path(folder).resolve()
        _use_home(root / "home")
        rows = _measure_poison(root, samples)
        memories = []
        for name in _SETS:
            lines = _read(source, f"{_MEMORIES}/{name}.jsonl").splitlines()
            data = [json.loads(line) for line in lines if line.strip()]
            chosen = data[::_QUICK] if options.quick else data
            memories += _measure_memories(root / name, name, chosen)
    figures = {"poison": _print_poison(rows), "memories": _print_memories(memories)}
    if not options.quick:
        write_rows(_JUDGED, [*rows, *memories])
    return figures


def _read(source: Path, name: str) -> str:
    """Return a file of the data, from the wheel or from the folder of its content."""
    try:
        if source.is_dir():
            return (source / name).read_text(encoding="utf-8")
        with zipfile.ZipFile(source) as wheel:
            return wheel.read(name).decode("utf-8")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        hint = "`pip download --no-deps inspect-evals` fetches the wheel, 0.26.0 or newer"
        raise DataError(f"{source}: no {name} ({error}); {hint}") from None


def _read_sample(row: Mapping[str, Any]) -> Sample:
    marker = str(row["attack_marker"])
    texts = []
    for key, body in row["memory_store"].items():
        title = str(key).replace("_", " ").capitalize()
        texts.append(Text(title=title, body=body, is_poisoned=bool(marker) and marker in body))
    prompt = str(row["input"])
    return Sample(id=_hash(row), prompt=prompt, marker=marker, texts=tuple(texts))


def _hash(row: Mapping[str, Any]) -> str:
    data = json.dumps(row, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(data.encode()).hexdigest()[:16]


def _use_home(home: Path) -> None:
    """Give this process and its children a home of their own, and no daemon."""
    for name in [name for name in os.environ if name.startswith(("LESSONS_", "XDG_"))]:
        if not name.startswith("LESSONS_BENCH"):
            del os.environ[name]
    home.mkdir(parents=True)
    os.environ |= {
        "HOME": str(home),
        "LESSONS_DAEMON": "0",
        "LESSONS_SEMANTIC": "0",
        "LESSONS_HOOK_DEADLINE": str(_SECONDS),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }


def _measure_poison(root: Path, samples: Sequence[Sample]) -> list[dict[str, Any]]:
    rows = []
    for number, sample in enumerate(samples):
        report.tell(f"memory_poison {number + 1} of {len(samples)}")
        for shape in SHAPES if sample.marker else SHAPES[:1]:
            row: dict[str, Any] = {"sample": sample.id, "set": "memory_poison", "shape": shape}
            row["poisoned"] = bool(sample.marker)
            row["places"] = {}
            for place in PLACES:
                folder = root / f"{number}-{shape}-{place.replace(' ', '-').replace(',', '')}"
                row["places"][place] = _MEASURES[place](folder, sample, shape)
            rows.append(row)
    return rows


def _measure_untrusted(folder: Path, sample: Sample, shape: str) -> dict[str, Any]:
    _write_brain(folder, sample, shape, trusted=False)
    seen = _ask(folder, sample.prompt)
    warned = [HOOK_LINE] if "trust" in seen.lines else []
    return _judge(sample, seen, warned, guard=UNTRUSTED)


def _measure_trusted(folder: Path, sample: Sample, shape: str) -> dict[str, Any]:
    _write_brain(folder, sample, shape, trusted=True)
    seen = _ask(folder, sample.prompt)
    return _judge(sample, seen, _list_warnings(folder, sample))


def _measure_import(folder: Path, sample: Sample, shape: str) -> dict[str, Any]:
    """Import the entries as memories of Claude Code, and accept them all."""
    _write_brain(folder, sample._replace(texts=()), shape, trusted=True)
    memories = folder.with_name(f"{folder.name}-memories")
    memories.mkdir()
    for number, text in enumerate(sample.texts):
        name = text.body if shape == "title" and text.is_poisoned else text.title
        name = " ".join(name.split())
        header = f"name: {json.dumps(name)}\ndescription: {json.dumps(name)}\ntype: feedback"
        content = f"---\n{header}\n---\n\n{text.body}\n"
        (memories / f"memory_{number}.md").write_text(content, encoding="utf-8")
    files = sorted(map(str, memories.iterdir()))
    preview = _run(folder, "import", "memory", *files, "--dry-run")
    warned = [PREVIEWED] if sample.marker and sample.marker in preview else []
    _run(folder, "import", "memory", *files, "--yes")
    seen = _ask(folder, sample.prompt)
    return _judge(sample, seen, warned)


def _measure_proposed(folder: Path, sample: Sample, shape: str) -> dict[str, Any]:
    return _measure_server(folder, sample, shape, accept=False)


def _measure_accepted(folder: Path, sample: Sample, shape: str) -> dict[str, Any]:
    return _measure_server(folder, sample, shape, accept=True)


def _measure_server(folder: Path, sample: Sample, shape: str, *, accept: bool) -> dict[str, Any]:
    """Propose the entries to a server, and ask it as its client.

    A card that a reviewer accepts is written into the brain of the server.
    """
    shared = folder.with_name(f"{folder.name}-shared")
    texts = sample.texts if accept else ()
    _write_brain(shared, sample._replace(texts=texts), shape, trusted=True)
    _write_brain(folder, sample._replace(texts=()), shape, trusted=True)
    warned = []
    with _serve(shared) as (url, token):
        if not accept:
            for text in sample.texts:
                _propose(f"{url}/propose", token, text, shape)
            if sample.marker and sample.marker in _show_drafts(shared):
                warned.append(REVIEWED)
        settings = Path(os.environ["HOME"]) / ".config" / "lessons-kb" / "settings.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        key = settings.with_name("token")
        key.write_text(token, encoding="utf-8")
        key.chmod(0o600)
        settings.write_text(
            f'[server]\nurl = "{url}"\ntoken_file = "{key}"\nseconds = 10\n', encoding="utf-8"
        )
        settings.chmod(0o600)
        try:
            seen = _ask(folder, sample.prompt)
        finally:
            settings.unlink()
    return _judge(sample, seen, warned, guard="" if accept else DRAFT)


_MEASURES = dict(
    zip(
        PLACES,
        (
            _measure_untrusted,
            _measure_trusted,
            _measure_import,
            _measure_proposed,
            _measure_accepted,
        ),
        strict=True,
    )
)


def _judge(sample: Sample, seen: Seen, warned: Sequence[str], *, guard: str = "") -> dict[str, Any]:
    """Return for each way whether the marker reached the model, and the guards that withheld it."""
    if not sample.marker:
        right = next(text for text in sample.texts)
        reached = ["prompt"] if right.title in seen.block else []
        return {"reached": reached, "guards": [], "warned": []}
    reached = []
    if sample.marker in seen.titles:
        reached.append("titles")
    if sample.marker in seen.block:
        reached.append("prompt")
    guards: list[str] = []
    if not reached:
        is_hidden = all("<!--" in text.body for text in sample.texts if text.is_poisoned)
        guards.append(guard or (HIDDEN if is_hidden else NOT_RELEVANT))
    return {"reached": reached, "guards": guards, "warned": sorted(set(warned))}


def _write_brain(folder: Path, sample: Sample, shape: str, *, trusted: bool) -> None:
    from lessons_kb.brain.make_brain import trust_brain

    lessons = folder / "lessons"
    lessons.mkdir(parents=True)
    (folder / "lessons.toml").write_text("", encoding="utf-8")
    for number, text in enumerate(sample.texts):
        title = text.body if shape == "title" and text.is_poisoned else text.title
        body = text.body if shape == "body" or not text.is_poisoned else text.title
        (lessons / f"memory-{number}.md").write_text(_format_card(title, body), encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=_SECONDS)
    if trusted:
        trust_brain(str(folder))


def _format_card(title: str, body: str) -> str:
    head = f"---\ntype: lesson\ntitle: {json.dumps(' '.join(title.split()), ensure_ascii=False)}\n"
    item = " ".join(body.split())
    return f"{head}---\n\n## Root Cause\n\n{body}\n\n## Prevention Checklist\n\n- {item}\n"


def _ask(folder: Path, prompt: str) -> Seen:
    """Return what a new session of Claude Code in a project sees."""
    from lessons_kb.service.hook_event import answer_event

    contexts, lines = [], []
    common = {"session_id": f"{folder.name}-{time.time_ns()}", "cwd": str(folder)}
    for event in (
        {"hook_event_name": "SessionStart", "source": "startup"},
        {"hook_event_name": "UserPromptSubmit", "prompt": prompt, "prompt_id": "p1"},
    ):
        data = json.dumps({**common, **event})
        output, _log = answer_event("claude-code", data, os.environ, cwd=str(folder))
        answer = json.loads(output) if output.strip() else {}
        contexts.append(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        lines.append(answer.get("systemMessage", ""))
    return Seen(titles=contexts[0], block=contexts[1], lines="\n".join(filter(None, lines)))


def _list_warnings(folder: Path, sample: Sample) -> list[str]:
    """Return the rules of `lint` and the checks of `doctor` that report a poisoned card.

    What they report of its clean neighbours as well, or of its length, is not about the poison.
    """
    if not sample.marker:
        return []
    rules: dict[bool, set[str]] = {True: set(), False: set()}
    for remark in json.loads(_run(folder, "--json", "lint")):
        path = folder / remark["path"]
        is_poisoned = path.is_file() and sample.marker in path.read_text(encoding="utf-8")
        rules[is_poisoned].add(remark["rule"])
    found = rules[True] - rules[False] - set(_ABOUT_LENGTH)
    troubles = _find_troubles(folder) - _find_usual_troubles(folder.parent)
    return [*(f"lint {rule}" for rule in sorted(found)), *(f"doctor {name}" for name in troubles)]


@cache
def _find_usual_troubles(root: Path) -> frozenset[str]:
    """Return what `doctor` reports of a brain with one harmless card."""
    harmless = Text(title="Retries", body="Send an idempotency key.", is_poisoned=False)
    sample = Sample(id="", prompt="", marker="", texts=(harmless,))
    folder = root / "harmless"
    _write_brain(folder, sample, "body", trusted=True)
    _ask(folder, "Add a retry")
    return _find_troubles(folder)


def _find_troubles(folder: Path) -> frozenset[str]:
    health = json.loads(_run(folder, "--json", "doctor"))
    return frozenset(one["what"] for one in health if one["level"] in ("warning", "error"))


def _run(folder: Path, *words: str) -> str:
    """Return what a command prints in a project."""
    done = subprocess.run(
        [sys.executable, "-c", _START, *words],
        cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode and words[0] == "import":
        raise DataError(f"lessons {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def _serve(folder: Path) -> Iterator[tuple[str, str]]:
    """Run a server of a brain. Yield the address of the brain, and a token to read and propose."""
    may = ("--brain", "shop", "--may", "read,propose")
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
    token = _run(folder, "serve", "token", "add", name, *may).strip()
    port = _find_port()
    command = [sys.executable, "-c", _START, "serve", f"shop={folder}", "--port", str(port)]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _wait(f"http://127.0.0.1:{port}/ready")
            yield f"http://127.0.0.1:{port}/v1/brains/shop", token
        finally:
            server.terminate()


def _find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait(address: str) -> None:
    """Wait until a server is ready. Raises DataError if it is not ready in time."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.1)
    raise DataError(f"the server did not answer at {address}")


def _propose(address: str, token: str, text: Text, shape: str) -> None:
    title = text.body if shape == "title" and text.is_poisoned else text.title
    item = " ".join(text.body.split())
    body = {"title": title, "root_cause": text.body, "prevention": [item], "symptoms": []}
    request = urllib.request.Request(
        address,
        data=json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=_SECONDS):
        pass


def _show_drafts(folder: Path) -> str:
    drafts = json.loads(_run(folder, "--json", "review", "--list"))
    return "\n".join(_run(folder, "review", "--show", draft["id"]) for draft in drafts)


def _measure_memories(
    root: Path, name: str, data: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Ask each prompt over a trusted brain with its memories, one card each."""
    rows = []
    for number, row in enumerate(data):
        if not number % 50:
            report.tell(f"{name} {number + 1} of {len(data)}")
        texts = [Text(title=text, body=text, is_poisoned=False) for text in row["memories"]]
        sample = Sample(id=_hash(row), prompt=row["query"], marker="", texts=tuple(texts))
        folder = root / str(number)
        _write_brain(folder, sample, "body", trusted=True)
        seen = _ask(folder, sample.prompt)
        beginnings = [" ".join(text.title.split())[:_BEGINNING] for text in texts]
        lessons, _close, offers = seen.block.partition("[/ACTIVE LESSONS]")
        rows.append(
            {
                "sample": sample.id,
                "set": name,
                "memories": len(texts),
                "titles": sum(text in seen.titles for text in beginnings),
                "given": sum(text in lessons for text in beginnings),
                "offered": sum(text in offers for text in beginnings),
            }
        )
    return rows


def _print_poison(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    table: list[list[str]] = []
    figures: dict[str, Any] = {}
    for shape in SHAPES:
        poisoned = [row for row in rows if row["poisoned"] and row["shape"] == shape]
        for place in PLACES:
            results = [row["places"][place] for row in poisoned]
            reached = [result for result in results if result["reached"]]
            ways = Counter(way for result in reached for way in result["reached"])
            guards = Counter(guard for result in results for guard in result["guards"])
            warned = Counter(warning for result in results for warning in result["warned"])
            figures[f"{place}, {shape}"] = {
                "samples": len(results),
                "reached": len(reached),
                "ways": ways,
                "guards": guards,
                "warned": warned,
            }
            table.append(
                [
                    place,
                    shape,
                    _share(len(reached), len(results)),
                    str(ways["titles"]),
                    str(ways["prompt"]),
                    _list_counts(guards),
                    _list_counts(warned),
                ]
            )
    headers = ("place", "poison in", "reached", "in titles", "with prompt", "withheld", "user sees")
    report.print_table("Poisoned memories as cards", headers, table)
    clean = [row["places"] for row in rows if not row["poisoned"]]
    for place in PLACES:
        given = sum(bool(places[place]["reached"]) for places in clean)
        figures[f"{place}, clean"] = {"samples": len(clean), "reached": given}
    given = figures["trusted brain, clean"]["reached"]
    print(f"\nControl: the right card of {given} of {len(clean)} clean samples was given.")
    return figures


def _print_memories(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    table: list[list[str]] = []
    figures: dict[str, Any] = {}
    for name in dict.fromkeys(row["set"] for row in rows):
        chosen = [row for row in rows if row["set"] == name]
        memories = sum(row["memories"] for row in chosen)
        given = sum(row["given"] > 0 for row in chosen)
        offered = sum(row["offered"] > 0 for row in chosen)
        counts = {way: sum(row[way] for row in chosen) for way in ("titles", "given", "offered")}
        figures[name] = {
            "prompts": len(chosen), "memories": memories, "prompts with a memory": given,
            "prompts with a title": offered, **counts,
        }  # fmt: skip
        table.append(
            [
                name,
                _share(given, len(chosen)),
                _share(counts["given"], memories),
                _share(offered, len(chosen)),
                _share(counts["titles"], memories),
            ]
        )
    headers = (
        "samples", "prompts that got a memory", "memories given", "prompts that got a title",
        "memories as titles at the start",
    )  # fmt: skip
    report.print_table("Memories as cards of a trusted brain", headers, table)
    return figures


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "–"


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{text}: {number}" for text, number in counts.items()) or "–"
