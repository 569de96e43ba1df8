"""One card of a brain, what is done to it, and what a refusal must look like."""

import os
import pathlib

CARD = b"---\r\noccurrences: 1 # seen\r\n---\r\n# Card  \r\nbody\n"
BUMPED = CARD.replace(b"1", b"2")


def read(path):
    return pathlib.Path(path).read_bytes()


def write(path, data):
    pathlib.Path(path).write_bytes(data)


def bump(data):
    head, _, rest = data.partition(b"occurrences: ")
    number, space, rest = rest.partition(b" ")
    return head + b"occurrences: " + str(int(number) + 1).encode() + space + rest


def only_the_card(root):
    return os.listdir(os.path.join(root, "lessons")) == ["card.md"]


def refused(error):
    """A message is one line that names the file and what to do."""
    text = str(error.value)
    assert "\n" not in text
    assert ";" in text
    return text
