"""A command for ``lessons review --with``: answer from files, and store what has no answer yet.

``python reader.py FOLDER`` reads a request from stdin. ``FOLDER/NN/request.txt`` is the request and
``FOLDER/NN/answer.txt`` its answer. A request without an answer is stored, and the command fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

from filelock import FileLock

README = """\
Read `request.txt` in this folder and write your answer to `answer.txt` in this folder, exactly in
the form that the request asks for: nothing before it and nothing after it. Read nothing else.
"""


def store(folder: Path, request: str) -> Path:
    """Return the folder of a request. It is made if no folder has this request."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        places = sorted(path.parent for path in folder.glob("*/request.txt"))
        for place in places:
            if (place / "request.txt").read_text("utf-8").strip() == request.strip():
                return place
        place = folder / f"{len(places) + 1:02}"
        place.mkdir()
        (place / "request.txt").write_text(request, "utf-8")
        (place / "README.md").write_text(README, "utf-8")
        return place


def main(arguments: list[str]) -> None:
    """Print the answer to the request on stdin."""
    place = store(Path(arguments[0]), sys.stdin.read())
    answer = place / "answer.txt"
    if not answer.exists():
        sys.exit(f"no answer yet: write {answer}")
    print(answer.read_text("utf-8"))


if __name__ == "__main__":
    main(sys.argv[1:])
