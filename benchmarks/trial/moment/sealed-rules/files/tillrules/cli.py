"""Commands: price, kinds, seal."""

import hashlib
import json
import sys
import tomllib
from pathlib import Path

from tillrules.discounts import RULES, discount

TILLS = Path(__file__).parent.parent / "var" / "tills.json"


def main(words: list[str]) -> None:
    """Run a command."""
    if words[0] == "price":
        print(discount(words[1], int(words[2])))
    elif words[0] == "kinds":
        print(*tomllib.loads(RULES.read_text())["percent"])
    elif words[0] == "seal":
        state = json.loads(TILLS.read_text())
        state["seal"] = hashlib.sha256(RULES.read_bytes()).hexdigest()[:12]
        TILLS.write_text(json.dumps(state, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
