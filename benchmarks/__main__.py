"""``python -m benchmarks WORK``: print tables, write JSON."""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report
from benchmarks.brains import MODEL
from benchmarks.data import SETS, DataError, check_names

if TYPE_CHECKING:
    from collections.abc import Sequence


class Work(NamedTuple):
    """A benchmark that can be run by its name."""

    module: str
    """Below ``benchmarks``."""
    question: str


_WORK = {
    "commands": Work("speed.commands", "time and memory of each command, beside another build"),
    "speed": Work("speed.speed", "time and memory beside a bare interpreter"),
    "module": Work("speed.module", "processor time of the plugin's module beside the command hook"),
    "peers": Work("speed.peers", "time of the hooks of other tools beside ours"),
    "quality": Work("retrieval.quality", "ranking beside plain retrieval tools"),
    "cluster": Work("retrieval.cluster", "order of the cluster's engine beside the reference"),
    "gate": Work("retrieval.gate", "silence on foreign prompts and recall on own ones"),
    "judgement": Work(
        "judgement.judgement",
        "what a prompt brings, beside another build; which cards language models open for it, from"
        " their recorded choices",
    ),
    "replay": Work(
        "judgement.replay", "lessons that arrive in a turn: with its prompt or with a change"
    ),
    "act": Work(
        "judgement.act",
        "lessons before an edit: the right one where its fix is undone, and ordinary edits",
    ),
    "dedup": Work("retrieval.dedup", "near-duplicates proposed and merged"),
    "postcheck": Work(
        "judgement.postcheck", "checklist items that are named, beside labelled cases"
    ),
    "triggers": Work("drafting.triggers", "prompts taken for a complaint"),
    "freshness": Work(
        "judgement.freshness", "files of real histories: gone, moved, guards alive, and the cost"
    ),
    "conflicts": Work(
        "judgement.conflicts", "contradictions between two cards, beside labelled pairs"
    ),
    "history": Work("judgement.history", "verdicts on lessons beside what they truly do"),
    "writers": Work("drafting.writers", "cards that language models write of mined drafts"),
    "mine": Work(
        "drafting.mine", "lessons that a history holds, beside those that its authors wrote"
    ),
    "diet": Work(
        "judgement.diet",
        "real rules files: what moves, whether it arrives, what a session saves",
    ),
    "real_text": Work(
        "judgement.real_text", "what the cards of real repositories say once they are read"
    ),
    "lsp": Work(
        "speed.lsp", "the language server beside `lint` and `detect`, and how soon it answers"
    ),
    "load": Work(
        "speed.load", "events answered in time beside busy processes, late, or never; gates decided"
    ),
    "claims": Work(
        "speed.claims", "hooks over cards with conditions and claims about code; two builds in turn"
    ),
    "serve": Work(
        "speed.serve", "a server of two workers and a loader: requests a second, latencies, memory"
    ),
    "stats": Work("speed.stats", "time of `lessons stats` over a large journal"),
    "tables": Work(
        "retrieval.tables", "make the gate's data files from clones of public repositories"
    ),
    "redaction": Work(
        "safety.redaction", "make the table of vendors' secrets; false alarms on code, and time"
    ),
    "remem": Work(
        "trial.remem", "remem's coding bench with our lessons: prepare runs, score them, the table"
    ),
    "moment": Work(
        "trial.moment", "a trial of when a fact is given: prepare runs, score them, the table"
    ),
    "trial": Work("trial", "a trial with language models as the agents: what its kept results say"),
    "poisoned": Work(
        "safety.poisoned",
        "poisoned and unrelated memories of public benchmarks as cards: what reaches the model",
    ),
    "trust": Work(
        "safety.trust", "races, kills, bad files, fuzzing, full disks, a hostile repository"
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one benchmark; 0, or 2 with one line on stderr if its data or library is absent."""
    options = _parser().parse_args(arguments)
    if MODEL not in os.environ:
        # The figures are those of words alone unless LESSONS_SEMANTIC=1 asks for the others.
        os.environ.setdefault("LESSONS_SEMANTIC", "0")
    try:
        check_names(options.sets)
        figures = import_module(f"benchmarks.{_WORK[options.work].module}").run(options)
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
    for name, (_module, question) in _WORK.items():
        command = commands.add_parser(name, help=question, description=question)
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
        if name == "mine":
            command.add_argument("--against", metavar="DIR", help="another build, with its .venv")
            command.add_argument("--write", metavar="FOLDER", help="write what readers are shown")
            command.add_argument("--collect", metavar="FOLDER", help="keep what readers answered")
            command.add_argument("--fit", action="store_true", help="fit the weights of commits")
            command.add_argument("--cost", action="store_true", help="only the processor time")
            command.add_argument("--sessions", metavar="FOLDER", help="with SpecStory exports")
            command.add_argument(
                "--judged", metavar="FILE", help="lines `yes REGEX` or `no REGEX` over a find"
            )
        if name == "redaction":
            command.add_argument("--rules", metavar="FILE", help="gitleaks.toml: make the table")
            command.add_argument("--version", help="which version of gitleaks it is from")
        if name == "peers":
            command.add_argument(
                "peers", nargs="+", metavar="NAME=LINE", help="shell line of a hook for a prompt"
            )
        if name == "poisoned":
            command.add_argument(
                "data", metavar="WHEEL_OR_DIR", help="inspect-evals, as a wheel or unpacked"
            )
        if name == "writers":
            command.add_argument("--into", metavar="FOLDER", help="of prompts and answers")
            command.add_argument("--write", action="store_true", help="write the prompts")
        if name == "remem":
            command.add_argument(
                "words", nargs="*", metavar="WORD", help="prepare | history | score, and folders"
            )
            command.add_argument("--arms", default="", metavar="A,B", help="with prepare")
            command.add_argument("--tasks", default="", metavar="A,B", help="only these tasks")
            command.add_argument("--cards", metavar="FOLDER", help="what `history` wrote")
            command.add_argument("--results", metavar="FILE", help="of a series of your own")
        if name == "moment":
            command.add_argument(
                "words",
                nargs="*",
                metavar="WORD",
                help="prepare | repository | score, and a folder",
            )
            command.add_argument("--arms", default="", metavar="A,B", help="with prepare")
            command.add_argument("--tasks", default="", metavar="A,B", help="only these tasks")
            command.add_argument(
                "--model", default="", metavar="NAME", help="with score: the agent"
            )
            command.add_argument("--results", metavar="FILE", help="of a series of your own")
        if name == "diet":
            command.add_argument("folders", nargs="*", metavar="CLONES", help="folder of clones")
            command.add_argument("--moved", metavar="FILE", help="write, or read, the moved rules")
            command.add_argument("--occasions", metavar="FILE", help="play what readers wrote")
            command.add_argument(
                "--group", metavar="NAME", default="unseen", help="of diet_files.toml"
            )
        if name == "real_text":
            command.add_argument(
                "folders",
                nargs="*",
                metavar="NAME=CLONE:PATH",
                help="clone of a repository, and its folder or its file of lessons",
            )
            command.add_argument("--against", metavar="CHECKOUT", help="compare with this one")
        if name == "tables":
            command.add_argument(
                "--sessions",
                nargs="+",
                metavar="CLONE",
                help="projects with SpecStory exports: make the table of prompts instead",
            )
        if name in ("tables", "mine", "redaction", "writers"):
            command.add_argument(
                "folders", nargs="*", metavar="FOLDER", help="a clone, or a folder of code, each"
            )
        if name in ("judgement", "act", "conflicts"):
            command.add_argument("--write", metavar="FOLDER", help="write what readers are shown")
        if name in ("judgement", "act", "conflicts"):
            command.add_argument("--collect", metavar="FOLDER", help="keep what readers answered")
        if name == "judgement":
            command.add_argument(
                "folders", nargs="*", metavar="NAME=FOLDER", help="more brains: folders of Markdown"
            )
            command.add_argument("--against", metavar="DIR", help="another build, with its .venv")
            command.add_argument("--asked", metavar="FILE", help="own prompts of these brains")
            command.add_argument(
                "--prompts", metavar="FILE", help="unrelated prompts: `text` a line"
            )
            command.add_argument("--only-named", action="store_true", help="no other brains")
        if name == "conflicts":
            command.add_argument("--with", dest="with_", metavar="COMMAND", help="ask an agent")
            command.add_argument(
                "folders", nargs="*", metavar="NAME=FOLDER", help="with --write: real brains"
            )
        if name == "act":
            command.add_argument(
                "folders",
                nargs="+",
                metavar="NAME=CLONE[:FOLDER]",
                help="clone of a repository, and its folder of lessons (docs/solutions/)",
            )
        if name == "freshness":
            command.add_argument(
                "folders",
                nargs="*",
                metavar="NAME=CLONE:FOLDER",
                help="clone of a repository, and its folder of cards",
            )
        if name == "replay":
            command.add_argument(
                "folders",
                nargs="*",
                metavar="NAME=CLONE",
                help="clone of the repository that a brain is from: compound, kitcn, plate",
            )
        if name == "claims":
            command.add_argument("--against", metavar="DIR", help="another build, with its .venv")
        if name == "commands":
            command.add_argument("--against", metavar="DIR", help="another build, with its .venv")
            command.add_argument(
                "--typer",
                action="append",
                default=[],
                metavar="PYTHON",
                help="interpreter with another version of typer, for its row; repeatable",
            )
        if name == "load":
            command.add_argument("--against", metavar="DIR", help="another build, with its .venv")
            command.add_argument("--sessions", type=int, default=0, help="of each build and load")
            command.add_argument(
                "--busy",
                type=lambda text: tuple(map(int, text.split(","))),
                default=(),
                metavar="N,M",
                help="how many busy processes; default: 0,8,12",
            )
            command.add_argument(
                "--daemon",
                type=lambda text: tuple(filter(None, text.split(","))),
                default=("cold", "warm"),
                metavar="A,B",
                help="cold, warm: whether a daemon runs when the session begins; default: both",
            )
        if name in ("commands", "speed"):
            command.add_argument(
                "--rows", metavar="A,B", help="only rows whose name begins with one of these"
            )
    return parser


if __name__ == "__main__":
    sys.exit(main())
