"""``python -m shiftboard FILE``: list the shifts to come."""

import sys
from datetime import datetime

from shiftboard.clock import to_text
from shiftboard.db import connect
from shiftboard.shifts import Shifts


def main(path: str) -> None:
    shifts = Shifts(connect(path))
    for one in shifts.after(datetime.now()):
        names = ", ".join(person.name for person in shifts.signed_up(one))
        print(f"{to_text(one.begins)}  {one.title}, {one.place}: {names or 'nobody yet'}")


if __name__ == "__main__":
    main(sys.argv[1])
