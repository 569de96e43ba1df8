"""`lessons serve`: what it refuses to start, and tokens on the command line."""

import json


def test_a_token_is_made_listed_and_removed(lessons):
    made = lessons("serve", "token", "add", "ci", "--brain", "shop", "--may", "read,propose")
    assert made.code == 0
    secret = made.out.strip()
    assert secret.startswith("lsn_")
    assert "shown this once" in made.err
    assert "it opens what is served as shop: `lessons serve shop=FOLDER`" in made.err
    assert lessons("serve", "token", "list").out.splitlines()[1].split() == [
        "ci", "shop", "read,", "propose",
    ]  # fmt: skip
    (listed,) = json.loads(lessons("serve", "token", "list", "--json").out)
    assert listed == {
        "name": "ci", "brains": ["shop"], "may": ["read", "propose"], "person": "", "email": "",
    }  # fmt: skip
    assert secret not in lessons("serve", "token", "list").out
    assert lessons("serve", "token", "remove", "ci").code == 0
    assert "there are no tokens" in lessons("serve", "token", "list").err


def test_a_reviewer_has_a_name_and_an_address(lessons):
    reviewer = ("--name", "Rita Kim", "--email", "rita@example.org")
    words = ("serve", "token", "add", "rita", "--brain", "shop", "--may", "read,review")
    assert lessons(*words, *reviewer).code == 0
    (listed,) = json.loads(lessons("serve", "token", "list", "--json").out)
    assert (listed["person"], listed["email"]) == ("Rita Kim", "rita@example.org")
    assert "Rita Kim" in lessons("serve", "token", "list").out


_REVIEW = ("token", "add", "ci", "--brain", "b", "--may", "review")


IMPOSSIBLE = [
    (_REVIEW, "add --name and --email"),
    ((*_REVIEW, "--name", "Rita"), "add --name and --email"),
    ((*_REVIEW, "--name", "Rita <r@x.org>", "--email", "r@x.org"), "cannot sign a commit"),
    ((*_REVIEW, "--name", "Rita\nKim", "--email", "r@x.org"), "cannot sign a commit"),
    ((*_REVIEW, "--name", "Rita", "--email", "nobody"), "is no address"),
    ((".", "--branch", "a..b"), "no name of a branch"),
    (("token", "add", "ci"), "add --brain NAME"),
    (("token", "add"), "token add NAME"),
    (("token", "burn", "ci"), "token add NAME"),
    (("token", "remove", "ci"), "no token named"),
    (("token", "add", "ci", "--brain", "b", "--may", "write"), "none of read, propose"),
    (("no-such-folder",), "is not a folder"),
    ((".", "--host", "0.0.0.0"), "there are no tokens"),
    ((".", "--behind-proxy"), "there are no tokens"),
    ((".", "--tls-cert", "c"), "belong together"),
    ((".", "--tls-cert", "none.pem", "--tls-key", "none.pem"), "check both"),
    (("a b=.",), "a b=. is not a folder"),
    (("x=.", "x=."), "two brains are called x"),
]


def test_what_cannot_be_is_said_in_one_line(lessons, brain):
    for words, told in IMPOSSIBLE:
        done = lessons("serve", *words)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert told in done.err, words


def test_elsewhere_it_wants_encryption(lessons, brain):
    lessons("serve", "token", "add", "ci", "--brain", "shop")
    done = lessons("serve", ".", "--host", "0.0.0.0")
    assert (done.code, "--behind-proxy" in done.err) == (2, True)


def test_a_folder_without_a_plain_name_is_given_one(lessons, brain, tmp_path):
    odd = tmp_path / "ein Ordner"
    odd.mkdir()
    assert "NAME=" in lessons("serve", str(odd)).err
