from datetime import time

from meter.export import export_day
from meter.readings import Reading

text = export_day([Reading("Weir", time(6), 1.5), Reading("Bridge", time(7, 30), None)])
rows = [line.split(",") for line in text.split()]
assert [row[0] for row in rows] == ["station", "Weir", "Bridge"], rows
assert float(rows[1][2]) == 1.5, rows
assert rows[2][2] == "~", rows
