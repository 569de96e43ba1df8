"""``python -m fuzz --minutes 20``: fuzz every target, coverage-guided, and print what came out."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING

from fuzz.corpus import ROOT, dictionary, seeds_of
from fuzz.targets import MAX_BYTES, MAX_SECONDS, TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
_COVERED = re.compile(r"cov: (\d+) ft: (\d+)")
_ERROR = re.compile(r"^(\w[\w.]*(?:Error|Exception|Refused|Interrupt)\b.*)$", re.MULTILINE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 after a clean run, 1 with findings, 2 where there is no fuzzer."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=20.0, help="in all (20)")
    parser.add_argument("--jobs", type=int, default=1, help="targets at the same time (1)")
    parser.add_argument("--corpus", help="folder that keeps what was learnt between runs")
    parser.add_argument("--findings", default="fuzz-findings", help="folder for new findings")
    options = parser.parse_args(arguments)
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}")
    if find_spec("atheris") is None:
        print("fuzz: no atheris here; `pip install atheris -e .` into a venv", file=sys.stderr)
        return 2
    names = options.targets or list(TARGETS)
    seconds = max(1, int(options.minutes * 60 * options.jobs / len(names)))
    corpus = pathlib.Path(options.corpus or tempfile.mkdtemp(prefix="lessons-fuzz-"))
    findings = pathlib.Path(options.findings).resolve()
    began = time.monotonic()
    print(f"{'target':16}{'executions':>12}{'branches':>10}{'features':>10}  findings", flush=True)
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda name: _fuzz(name, seconds, corpus, findings), names))
    found = sum(bool(row[1]) for row in rows)
    spent = (time.monotonic() - began) / 60
    executed = sum(row[0] for row in rows)
    print(f"{executed:,} executions in {spent:.1f} minutes, {found} targets with findings")
    return int(found > 0)


def _fuzz(
    name: str, seconds: int, corpus: pathlib.Path, findings: pathlib.Path
) -> tuple[int, list[str]]:
    """Run one target; libFuzzer stops at the first finding."""
    folder = corpus / name
    folder.mkdir(parents=True, exist_ok=True)
    made = pathlib.Path(tempfile.mkdtemp(prefix="lessons-seeds-"))
    seeds = made / "seeds"
    seeds.mkdir()
    for number, seed in enumerate(seeds_of(name, TARGETS[name])):
        (seeds / f"{number:04}").write_bytes(seed)
    findings.mkdir(parents=True, exist_ok=True)
    words = made / "words.dict"
    words.write_text(dictionary(), encoding="ascii")
    command = [
        *(sys.executable, "-m", "fuzz.engine", name, str(folder), str(seeds)),
        *(f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-print_final_stats=1"),
        f"-dict={words}",
        *(f"-timeout={int(MAX_SECONDS * 4)}", "-rss_limit_mb=2048"),
        f"-artifact_prefix={findings}/{name}-",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, check=False, encoding="utf-8",
        errors="replace",
    )  # fmt: skip
    shutil.rmtree(made)
    said = done.stdout + done.stderr
    executed = int(match[1]) if (match := _EXECUTED.search(said)) else 0
    covered = _COVERED.findall(said)
    branches, features = covered[-1] if covered else ("?", "?")
    what = []
    if done.returncode:
        errors = _ERROR.findall(said)
        what = [errors[-1][:200] if errors else said[-400:]]
        (findings / f"{name}.txt").write_text(said, encoding="utf-8")
    line = f"{name:16}{executed:>12,}{branches:>10}{features:>10}  {'; '.join(what) or 'none'}"
    print(line, flush=True)
    return executed, what


if __name__ == "__main__":
    sys.exit(main())
