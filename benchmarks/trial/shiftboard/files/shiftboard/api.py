"""What the web page calls: method, path and data in; status and data out."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from shiftboard.clock import to_text
from shiftboard.people import NoSuchPerson, People, Person
from shiftboard.shifts import NoSuchShift, Shift, ShiftFull, Shifts

Answer = tuple[int, Any]


class Api:
    """Routes, and what they answer."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.people = People(connection)
        self.shifts = Shifts(connection)
        self.routes: list[tuple[str, str, Callable[..., Answer]]] = [
            ("GET", r"/people", self.list_people),
            ("POST", r"/people", self.add_person),
            ("GET", r"/shifts/(\d+)", self.show_shift),
            ("PUT", r"/shifts/(\d+)/people/(\d+)", self.sign_up),
        ]

    def call(self, method: str, path: str, data: Mapping[str, Any] | None = None) -> Answer:
        for verb, pattern, action in self.routes:
            match = re.fullmatch(pattern, path)
            if match and verb == method:
                try:
                    return action(data or {}, *map(int, match.groups()))
                except (NoSuchPerson, NoSuchShift):
                    return 404, {"error": "not found"}
                except (ShiftFull, ValueError) as error:
                    return 409, {"error": str(error)}
        return 404, {"error": "no such route"}

    def list_people(self, _data: Mapping[str, Any]) -> Answer:
        return 200, [show_person(one) for one in self.people.all()]

    def add_person(self, data: Mapping[str, Any]) -> Answer:
        return 201, show_person(self.people.add(data.get("name", ""), data.get("email", "")))

    def show_shift(self, _data: Mapping[str, Any], shift_id: int) -> Answer:
        shift = self.shifts.get(shift_id)
        people = [one.name for one in self.shifts.signed_up(shift)]
        return 200, {**show_shift(shift), "people": people}

    def sign_up(self, _data: Mapping[str, Any], shift_id: int, person_id: int) -> Answer:
        self.shifts.sign_up(self.shifts.get(shift_id), self.people.get(person_id))
        return 204, None


def show_person(person: Person) -> dict[str, Any]:
    return {"id": person.id, "name": person.name, "email": person.email}


def show_shift(shift: Shift) -> dict[str, Any]:
    return {
        "id": shift.id,
        "title": shift.title,
        "place": shift.place,
        "begins": to_text(shift.begins),
        "ends": to_text(shift.ends),
        "capacity": shift.capacity,
    }
