"""Stand-ins for tests."""

from datetime import datetime

from shiftboard.db import connect
from shiftboard.people import People
from shiftboard.shifts import Shifts


class FakeRelay:
    def __init__(self):
        self.sent = []

    def send_message(self, message):
        self.sent.append(message)


class Board:
    """A board with two volunteers and a shift."""

    def __init__(self, capacity=3):
        self.connection = connect()
        self.people, self.shifts = People(self.connection), Shifts(self.connection)
        self.ada = self.people.add("Ada Byron", "ada@example.org")
        self.bo = self.people.add("Bo Diaz", "bo@example.org")
        self.soup = self.shift("Soup kitchen", 10, 14, capacity)

    def shift(self, title, begins, ends, capacity=3, day=10):
        begin, end = datetime(2026, 1, day, begins), datetime(2026, 1, day, ends)
        return self.shifts.add(title, "Hall", begin, end, capacity)
