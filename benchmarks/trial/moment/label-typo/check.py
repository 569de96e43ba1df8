import csv
from pathlib import Path

from enrol.labels import LABELS

with Path("texts/labels.csv").open(newline="") as file:
    labels = [row["label"] for row in csv.DictReader(file)]
assert labels == ["Name", "Address", "Birthday", "Course"], labels
assert LABELS == {"name": "Name", "adress": "Adress", "birthday": "Birthday", "course": "Course"}, LABELS
