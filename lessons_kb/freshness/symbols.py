"""Find out whether the symbols that cards name occur in the code of a commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from lessons_kb.freshness.fates import GONE, NEVER, Fate
from lessons_kb.process.git_history import find_differing_words, find_last_removal, find_words
from lessons_kb.store.file_history import FileHistory

_MOST_SEARCHES = 20
"""The maximum number of symbols whose removal one run looks up, because each search walks the
history.
"""


class Symbols:
    """The occurrences of symbols in commits. Each symbol is looked up once in a commit."""

    def __init__(self, top: str, history: FileHistory, excluded: Sequence[str]) -> None:
        """``excluded`` are folders, relative to the top, in which no symbol is searched."""
        self._top = top
        self._history = history
        self._excluded = excluded
        self._present: dict[str, dict[str, bool]] = {}
        self._searches = 0

    def look_up_today(self, names: Iterable[str]) -> None:
        """Look up symbols in HEAD."""
        head = self._history.head
        present = self._history.read_words(head)
        unknown = {*names} - present.keys()
        if unknown:
            answers = self._compare_with_last(unknown)
            rest = sorted(unknown - answers.keys())
            if rest:
                answers |= find_words(self._top, head, rest, self._excluded)
            self._history.add_words(head, answers)
            present |= answers
        self._history.searched_head = head
        self._present[head] = present

    def _compare_with_last(self, names: AbstractSet[str]) -> dict[str, bool]:
        """Return which symbols HEAD has, if the changes since the last search show it.

        A symbol that vanished from all files that changed may still be in another file, so it is
        left out.
        """
        last, head = self._history.searched_head, self._history.head
        before = self._history.read_words(last)
        known = names & before.keys()
        if not known:
            return {}
        added = find_differing_words(self._top, {head: known}, self._excluded, base=last)[head]
        removed = find_differing_words(self._top, {last: known}, self._excluded, base=head)[last]
        answers = {}
        for name in known:
            if name in added or name not in removed:
                answers[name] = name in added or before[name]
        return answers

    def look_up_earlier(self, names: Mapping[str, set[str]]) -> None:
        """Look up symbols that HEAD lacks in earlier commits. ``names`` is grouped by commit."""
        unknown = {}
        for commit, words in names.items():
            self._present[commit] = self._history.read_words(commit)
            if words - self._present[commit].keys():
                unknown[commit] = words - self._present[commit].keys()
        # HEAD has none of the symbols, so that they are in files which differ there.
        head = self._history.head
        found = find_differing_words(self._top, unknown, self._excluded, base=head)
        for commit, words in unknown.items():
            answers = {name: name in found[commit] for name in words}
            self._history.add_words(commit, answers)
            self._present[commit] |= answers
        self._history.forget_words(but=[self._history.head, *names])

    def is_present(self, name: str) -> bool:
        """Return whether HEAD has a symbol that was looked up, or may have it in a file that git
        cannot read.
        """
        return self._present[self._history.head].get(name, True)

    def find_fate(self, name: str, base: str) -> Fate:
        """Return the fate of a symbol that HEAD lacks. ``base`` is a commit that was looked up."""
        return Fate(state=GONE if self._present.get(base, {}).get(name) else NEVER)

    def search_removal(self, name: str, base: str) -> str:
        """Return the commit that removed a symbol since an earlier commit; "" if it is unknown."""
        self._searches += 1
        if self._searches > _MOST_SEARCHES:
            return ""
        return find_last_removal(self._top, name, after=base)
