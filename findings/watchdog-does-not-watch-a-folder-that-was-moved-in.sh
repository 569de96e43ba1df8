#!/usr/bin/env bash
# watchdog's recursive watch on Linux never sees changes in a folder that was moved into the tree.
#
# Expected: a recursive watch covers each new folder, whether it was made there or moved there, as
# unpacking to a temporary place and renaming does.
# Seen (watchdog 6.0.0): for a folder moved in from outside, the files in it are reported once, as
# created, and nothing is reported afterwards, at any depth. A folder made inside is watched.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check watchdog==6.0.0

cat > "$folder/show.py" <<'PYTHON'
import pathlib
import sys
import time

from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer


class Collector(FileSystemEventHandler):
    def __init__(self):
        self.paths = []

    def on_created(self, event):
        if not event.is_directory:
            self.paths.append(pathlib.Path(event.src_path).name)


for label in ("made inside", "moved in"):
    root = pathlib.Path(sys.argv[1]) / label
    outside = root.with_name("outside")
    root.mkdir(parents=True)
    collector = Collector()
    observer = Observer()
    observer.schedule(collector, str(root), recursive=True)
    observer.start()
    new = root / "new" if label == "made inside" else outside
    (new / "deeper").mkdir(parents=True)
    (new / "deeper/first.md").touch()
    if new == outside:
        outside.rename(root / "new")
    time.sleep(2)
    (root / "new/second.md").touch()
    (root / "new/deeper/third.md").touch()
    time.sleep(2)
    observer.stop()
    observer.join()
    print(f"{label}: {sorted(set(collector.paths))}")
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/show.py" "$folder/trees" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
made inside: ['first.md', 'second.md', 'third.md']
moved in: ['first.md']
TEXT
