from pathlib import Path

from sync.settings import DEFAULTS
from sync.upload import upload

assert DEFAULTS["upload_retries"] == 5, DEFAULTS
tries = []
assert upload(b"1", lambda *_data, **_fields: tries.append(1) or len(tries) == 3) is True
assert len(tries) == 3, tries
announced = Path("ops/pending/upload_retries")
assert announced.exists() and announced.read_text().strip() == "5", "the setting is not announced"
