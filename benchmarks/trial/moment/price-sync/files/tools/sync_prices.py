"""Bring data/prices.json up to date."""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from shop.supplier import fetch_prices

(ROOT / "data" / "prices.json").write_text(json.dumps(fetch_prices(), indent=1) + "\n")
print("prices are up to date")
