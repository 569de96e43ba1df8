import hashlib
import json
import tomllib
from pathlib import Path

rules = Path("rules/discounts.toml")
assert tomllib.loads(rules.read_text())["percent"]["member"] == 7
seal = json.loads(Path("var/tills.json").read_text())["seal"]
assert seal == hashlib.sha256(rules.read_bytes()).hexdigest()[:12], "the rules are not sealed"
