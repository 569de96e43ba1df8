"""``python -m benchmarks WORK``: print tables, write JSON."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import SETS, DataError, check_names

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORK = {
    "speed": "time and memory beside a bare interpreter",
    "quality": "ranking beside plain retrieval tools",
    "cluster": "order of the cluster's engine beside the reference",
    "gate": "silence on foreign prompts and recall on own ones",
    "judgement": "which cards language models open for a prompt, from their recorded choices",
    "replay": "lessons that arrive in a turn: with its prompt or with a change",
    "act": "lessons before an edit: the right one where its fix is undone, and ordinary edits",
    "dedup": "near-duplicates proposed and merged",
    "postcheck": "checklist items that are named, beside labelled cases",
    "triggers": "prompts taken for a complaint",
    "history": "verdicts on lessons beside what they truly do",
    "writers": "cards that language models write of mined drafts",
    "mine": "lessons that a history holds, beside those that its authors wrote",
    "diet": "real rules files: what moves, whether it arrives, what a session saves",
    "lsp": "the language server beside `lint` and `detect`, and how soon it answers",
    "serve": "a server of two workers and a loader: requests a second, latencies, memory",
    "stats": "time of `lessons stats` over a large journal",
    "house": "calls, files and rooms that one warm prompt passes through",
    "tables": "make the gate's data files from clones of public repositories",
    "redaction": "make the table of vendors' secrets; false alarms on code, and time",
    "detect": "patterns learnt from fixes, beside a linter's verdict on other projects",
    "trial": "a trial with language models as the agents: what its kept results say",
    "trust": "races, kills, bad files, fuzzing, full disks, a hostile repository",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark; 0, or 2 with one line on stderr if its data or library is absent."""
    options = _parser().parse_args(arguments)
    try:
        check_names(options.sets)
        figures = import_module(f"benchmarks.{options.work}").run(options)
    except (DataError, ImportError) as error:
        report.tell(f"benchmarks {options.work}: {error}")
        return 2
    if options.json:
        run = {"benchmark": options.work, "quick": options.quick} | report.describe_run(
            options.seed
        )
        report.write_json(options.json, run | figures)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = parser.add_subparsers(dest="work", required=True)
    for name, text in _WORK.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--quick", action="store_true", help="a sample: minutes to seconds")
        command.add_argument("--json", metavar="FILE", help="write all figures to FILE")
        command.add_argument("--seed", type=int, default=1)
        command.add_argument(
            "--sets",
            type=lambda text: tuple(filter(None, text.split(","))),
            default=SETS,
            metavar="A,B",
            help=f"of {', '.join(SETS)}",
        )
        if name == "quality":
            command.add_argument("--no-semantic", action="store_true", help="leave MiniLM out")
        if name == "gate":
            command.add_argument(
                "--part", choices=("dev", "held-out"), help="everyday prompts: only this half"
            )
        if name == "detect":
            command.add_argument("--data", metavar="DATA", help="default: LESSONS_BENCH_DATA")
            command.add_argument("--part", choices=("dev", "held-out"), help="only this part")
            command.add_argument("--verbose", action="store_true", help="tell of every fix")
        if name == "mine":
            command.add_argument("--sessions", metavar="FOLDER", help="with SpecStory exports")
            command.add_argument(
                "--judged", metavar="FILE", help="lines `yes REGEX` or `no REGEX` over a find"
            )
        if name == "redaction":
            command.add_argument("--rules", metavar="FILE", help="gitleaks.toml: make the table")
            command.add_argument("--version", help="which version of gitleaks it is from")
        if name == "writers":
            command.add_argument("--into", metavar="FOLDER", help="of prompts and answers")
            command.add_argument("--write", action="store_true", help="write the prompts")
        if name == "diet":
            command.add_argument("folders", nargs="*", metavar="CLONES", help="folder of clones")
            command.add_argument("--moved", metavar="FILE", help="write, or read, the moved rules")
            command.add_argument("--occasions", metavar="FILE", help="play what readers wrote")
        if name in ("tables", "mine", "redaction", "writers"):
            command.add_argument(
                "folders", nargs="*", metavar="FOLDER", help="a clone, or a folder of code, each"
            )
        if name in ("judgement", "detect", "act"):
            command.add_argument("--write", metavar="FOLDER", help="write what readers are shown")
        if name in ("judgement", "detect", "act"):
            command.add_argument("--collect", metavar="FOLDER", help="keep what readers answered")
        if name == "act":
            command.add_argument(
                "folders",
                nargs="+",
                metavar="NAME=CLONE[:FOLDER]",
                help="clone of a repository, and its folder of lessons (docs/solutions/)",
            )
        if name == "replay":
            command.add_argument(
                "folders",
                nargs="*",
                metavar="NAME=CLONE",
                help="clone of the repository that a brain is from: compound, kitcn, plate",
            )
        if name == "speed":
            command.add_argument(
                "--rows", metavar="A,B", help="only rows whose name begins with one of these"
            )
    return parser


if __name__ == "__main__":
    sys.exit(main())
