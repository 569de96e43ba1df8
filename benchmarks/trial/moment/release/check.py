import re
from pathlib import Path

headings = re.findall(r"^## (.*)", Path("CHANGES.md").read_text(), re.MULTILINE)
numbers = [heading for heading in headings if "1." in heading]
assert "1.9.0" in numbers[0], headings
assert Path("VERSION").read_text().strip() == "1.8.0", "VERSION was changed"
