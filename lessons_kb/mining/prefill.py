"""Choose the paths, cause, items and symptoms that a draft takes over from the past.

Text that is taken over looks complete to its reviewer. Therefore doubtful text is left out: it
stays in the evidence of the draft, and the field stays empty.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from lessons_kb.calls.failure_signs import is_test, is_test_report
from lessons_kb.data import compile_patterns
from lessons_kb.mining.commit_facts import is_code, is_prose
from lessons_kb.text.error_signature import shows
from lessons_kb.text.sanitize import clean, clean_line
from lessons_kb.text.sentences import first_sentence, split_sentences

_MAX_PATHS, _MAX_CAUSES, _MAX_ITEMS, _MAX_SYMPTOMS = 5, 2, 3, 3
_MAX_SENTENCE = 300
_MAX_SYMPTOM = 200
"""The maximum number of characters of a symptom."""
_MIN_TASK = 3
"""The minimum number of words of a task that becomes a symptom."""
_MAIN_SHARE = 0.2
"""A file with this share of the changed lines of the largest file is a main file of a fix."""
_MIN_STEM = 3
"""The minimum length of the name of a file, without its extension, that a subject mentions."""
_INDENTED = ("    ", "\t")
_TYPED_ERROR = re.compile(
    r"(?:E\s+)?(?:[\w.]+\.)?(?:\w*(?:Error|Exception|Panic)|error|panic|fatal): ?\S"
)
_BRACKETS = ("()", "[]", "{}")


@cache
def _phrase(name: str) -> re.Pattern[str]:
    """Return a pattern of ``data/draft_gaps.toml``, compiled when the first draft needs it."""
    return compile_patterns("draft_gaps.toml", name)[0]


def choose_paths(files: Iterable[str]) -> tuple[str, ...]:
    """Return the changed files that a card guards, which are source files of the project.

    A change without source files is about an example, the configuration, the documentation or the
    tests, in this order. Generated files, lock files and change logs are never guarded.
    """
    inside = [path for path in files if not path.startswith(("/", "..")) and ":" not in path]
    tests = [path for path in inside if is_test(path)]
    written = [path for path in inside if not is_test(path) and not _is_record(path)]
    code = [path for path in written if is_code(path)]
    source = [path for path in code if not shows("beside the source", path.lower())]
    documentation = [path for path in written if is_prose(path)]
    rest = [path for path in written if path not in code and path not in documentation]
    chosen = source or code or rest or documentation or tests
    return tuple(chosen[:_MAX_PATHS])


def pick_main_files(files: Sequence[str], sizes: Mapping[str, int], subject: str) -> list[str]:
    """Return the files that a fix is about: the most changed files, and those in its subject.

    ``sizes`` maps a file to the number of its changed lines. If it is empty, all files are
    returned.
    """
    if not sizes:
        return list(files)
    code = [path for path in choose_paths(files) if is_code(path)]
    largest = max((sizes.get(path, 0) for path in code), default=0)
    words = set(re.findall(r"\w+", subject.lower()))

    def is_main(path: str) -> bool:
        stem = posixpath.basename(path).partition(".")[0].lower()
        is_mentioned = len(stem) >= _MIN_STEM and stem in words
        return is_mentioned or sizes.get(path, 0) >= _MAIN_SHARE * largest

    return [path for path in files if is_main(path)]


def _is_record(path: str) -> bool:
    """Return whether a file is generated, or describes changes of other files."""
    return shows("generated", path.lower()) or shows("records", path.lower())


def split_prose(texts: Iterable[str]) -> list[str]:
    """Return the complete sentences of some texts, without tables and overlong sentences."""
    sentences: list[str] = []
    for text in texts:
        for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] )", text):
            sentences += split_sentences(" ".join(paragraph.split()))
    short = [sentence for sentence in sentences if 0 < len(sentence) <= _MAX_SENTENCE]
    return [sentence for sentence in short if "|" not in sentence]


def pick_causes(sentences: Iterable[str]) -> list[str]:
    """Return the sentences that give the reason of a failure."""
    causes = [clean_line(sentence) for sentence in sentences if states_reason(sentence)]
    return causes[:_MAX_CAUSES]


def states_reason(sentence: str) -> bool:
    """Return whether a sentence says why something failed.

    The advantages of a fix are no reason, and neither is an instruction. A sentence that begins
    with "it" is not understood without the sentence before it.
    """
    if not shows("explains", sentence.lower()) or _phrase("command").search(sentence):
        return False
    if not (_begins_sentence(sentence) and _is_complete(sentence)):
        return False
    says_failure = _phrase("failure").search(sentence) is not None
    return says_failure and _phrase("no reason").search(sentence) is None


def pick_mechanism(sentences: Iterable[str]) -> list[str]:
    """Return the sentences of a commit message that say what led to the failure.

    A message describes the failure first and the fix afterwards. Therefore only the sentences
    before the first one about the fix count.
    """
    causes: list[str] = []
    for sentence in sentences:
        text = clean_line(sentence).lstrip("-* ")
        if _phrase("commit").match(text) and text != sentence:
            continue
        if _phrase("order").match(text) or _phrase("change").search(text):
            break
        if _states_mechanism(text):
            causes.append(text)
    return causes[:_MAX_CAUSES]


def _states_mechanism(text: str) -> bool:
    if not all(_phrase(name).search(text) for name in ("mechanism", "fault", "past")):
        return False
    doubts = ("no reason", "housekeeping", "command")
    is_doubtful = any(_phrase(name).search(text) for name in doubts)
    return not is_doubtful and _begins_sentence(text) and _is_complete(text)


def pick_items(sentences: Iterable[str], *, of_commit: bool = False) -> list[str]:
    """Return the sentences that can be checklist items. ``of_commit`` is as in `is_instruction`."""
    texts = [clean_line(sentence).lstrip("-* ") for sentence in sentences]
    whole = [text for text in texts if _begins_sentence(text)]
    items = [text for text in whole if is_instruction(text, of_commit=of_commit)]
    return items[:_MAX_ITEMS]


def is_instruction(sentence: str, *, of_commit: bool = False) -> bool:
    """Return whether a sentence tells its reader what to do in a future change.

    "Add a check" describes a change that was made, and housekeeping prevents no mistake. A card has
    no "here", because its reader does not see the code beside the sentence. In the message of a
    commit, "Use a lock" also names the change, unless it says what it prevents.
    """
    text = sentence.strip()
    is_imperative = _phrase("imperative").search(text) is not None
    if is_imperative and of_commit:
        is_imperative = _phrase("precaution").search(text) is not None
    if not (is_imperative or _phrase("instruction").search(text)) or not _is_complete(text):
        return False
    return not any(_phrase(name).search(text) for name in ("report", "housekeeping", "place"))


def pick_symptoms(prompts: Iterable[str], errors: Iterable[str]) -> tuple[str, ...]:
    """Return the first prompts and errors as symptoms.

    Texts that were cut are left out, and so are lines that a test reporter prints in any project.
    """
    typed = [prompt for prompt in prompts if not is_test_report(prompt)]
    raised = [error for error in errors if not is_test_report(error)]
    tasks = [_shorten_task(prompt) for prompt in typed[:2]]
    messages = [clean_line(error) for error in raised[:2]]
    whole = [message for message in messages if len(message) <= _MAX_SYMPTOM]
    symptoms = dict.fromkeys(filter(None, [*tasks, *whole]))
    return tuple(symptoms)[:_MAX_SYMPTOMS]


def _shorten_task(prompt: str) -> str:
    """Return a prompt, or its first sentence if it is too long, or "" if that is too long as well.

    ``prompt`` may have been cut, so that it ends with "…".
    """
    text = clean_line(prompt)
    is_whole = len(text) <= _MAX_SYMPTOM and not text.endswith("…")
    task = text if is_whole else first_sentence(text)
    if len(task) > _MAX_SYMPTOM or task.endswith("…") or len(task.split()) < _MIN_TASK:
        return ""
    return task


def find_error_lines(body: str) -> list[str]:
    """Return the lines of a commit message that quote an error.

    A line of prose that mentions an error is a part of a wrapped paragraph, and not a message.
    """
    errors = []
    for line in clean(body).splitlines():
        text = line.strip()
        is_indented = line.startswith(_INDENTED) and shows("error", text.lower())
        if is_indented or _TYPED_ERROR.match(text):
            errors.append(text)
    return errors


def _begins_sentence(text: str) -> bool:
    """Return whether a text begins as a sentence does: with a capital letter or an identifier."""
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    return not word[:1].islower() or re.search(r"[A-Z_.(\d]", word) is not None


def _is_complete(sentence: str) -> bool:
    """Return whether a sentence is whole: its brackets and backticks are closed, and it has an
    end.
    """
    text = sentence.strip()
    if text.endswith((":", ",", "…", "(", "-", "because", "since")) or text.count("`") % 2:
        return False
    return all(text.count(pair[0]) == text.count(pair[1]) for pair in _BRACKETS)
