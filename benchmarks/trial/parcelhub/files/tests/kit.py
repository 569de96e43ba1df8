"""Stand-ins for tests."""

from parcelhub.models import Address, Parcel
from parcelhub.transport import Response, Timeout, Transport


class FakeTransport(Transport):
    """Answers from a list; an exception in it is raised. Keeps what was asked."""

    def __init__(self, *answers):
        super().__init__()
        self.answers = list(answers)
        self.requests = []

    def request(self, method, url, *, headers=None, body=None):
        self.requests.append({"method": method, "url": url, "headers": headers or {}, "body": body})
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def make_parcel(id="P1", **more):
    to = Address("Ada Byron", "Lindenweg 4", "20095", "Hamburg")
    return Parcel(**{"id": id, "recipient": to, "weight_g": 1200, **more})


__all__ = ["FakeTransport", "Response", "Timeout", "make_parcel"]
