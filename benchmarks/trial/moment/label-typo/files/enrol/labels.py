"""Labels of the form."""

LABELS = {
    "name": "Name",
    "adress": "Adress",
    "birthday": "Birthday",
    "course": "Course",
}
