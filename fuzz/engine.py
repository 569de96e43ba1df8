"""One target under atheris, in a process of its own: libFuzzer ends the process it runs in."""

from __future__ import annotations

import sys
import warnings


def main() -> None:
    """Fuzz ``argv[1]``; the other arguments are libFuzzer's."""
    import atheris

    warnings.simplefilter("error", FutureWarning)
    with atheris.instrument_imports(include=["lessons_kb", "tomllib", "yaml"]):
        from fuzz.corpus import seeds_of
        from fuzz.targets import TARGETS, run

        target = TARGETS[sys.argv[1]]
        for seed in seeds_of(sys.argv[1], target):
            run(target, seed)  # also imports, and so instruments, what is imported on the way
    atheris.Setup([sys.argv[0], *sys.argv[2:]], lambda data: run(target, data))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
