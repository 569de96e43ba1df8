"""What a hook may spend on indexing: a few files now, the rest in a process of its own."""

from __future__ import annotations

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.process.detached import start_index


def freshen(brain: Layers) -> tuple[Layers, str]:
    """Read a few changed files; leave more of them, and a long wait, to a detached run.

    Returns the brain to search, and what could not be read fresh. Layers of which nothing is
    indexed yet are left out: a search would wait for their whole index. So are those whose
    settings cannot be used; ConfigError where that leaves none.
    """
    waiting = ""
    ready: list[Layer] = []
    bad: ConfigError | None = None
    for layer in brain.layers:
        try:
            done = layer.refresh_some()
        except ConfigError as error:
            bad, waiting = error, f"{layer.alias}: {error}"
            continue
        if done.stale and not layer.is_watched:
            start_index(layer.root, layer.cache)
        if layer.state is None:
            waiting = f"{layer.alias}: {done.stale}"
        else:
            ready.append(layer)
    if not ready:
        if bad is not None:
            raise bad
        raise StorageError(f"{waiting}; nothing is indexed yet; the next prompt tries again")
    if len(ready) == len(brain.layers):
        return brain, waiting
    project = brain.project if bad is None else None  # which those that are left name themselves
    return Layers(ready, directory=brain.directory, project=project), waiting
