"""A server on one machine, agents on another: an address beyond loopback's names, TLS, a token."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass

import pytest
import trustme

from tests.kit import copy_example, wait_until

pytest.importorskip("mcp", reason="the extra `server` is not installed")

pytestmark = pytest.mark.slow

PROMPT = "Add a Telegram command that runs a shell script on the server"
LESSONS = (sys.executable, "-m", "lessons_kb.cli.entry")
CARD = "shop@server:lessons/telegram-allowlist.md"


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """A home of its own, and an address."""

    home: pathlib.Path
    address: str

    def environment(self, **more):
        gone = ("LESSONS_", "XDG_", "SSL_", "CLAUDE")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(gone)}
        mine = {"HOME": str(self.home), "LESSONS_DAEMON": "0", "LESSONS_HOOK_DEADLINE": "60"}
        return {**kept, **mine, **more}

    def run(self, *command, stdin="", **more):
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment(**more),
            cwd=self.home / "work",
            timeout=120,
        )

    def hook(self, session, **more):
        """Run the hook that is installed: what the model gets, what the user sees."""
        settings = json.loads((self.home / ".claude/settings.json").read_text())
        (hook,) = settings["hooks"]["UserPromptSubmit"][0]["hooks"]
        event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": PROMPT}
        event["cwd"] = str(self.home / "work")
        done = self.run(hook["command"], *hook["args"], stdin=json.dumps(event), **more)
        assert done.returncode == 0, done.stderr
        output = json.loads(done.stdout or "{}")
        context = output.get("hookSpecificOutput", {}).get("additionalContext", "")
        return context, output.get("systemMessage", "")


@pytest.fixture
def machines(tmp_path):
    homes = [tmp_path / name for name in ("server", "agent")]
    for home in homes:
        (home / "work").mkdir(parents=True)
    # An address that the server takes for one that others can reach, and that is only ours.
    address = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
    return [Machine(home=home, address=address) for home in homes]


def test_an_agent_elsewhere_is_given_the_lessons_of_a_server(machines, tmp_path):
    server, agent = machines
    copy_example(server.home / "shop")
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(agent.home / "ca.pem")
    other.cert_pem.write_to_path(agent.home / "other.pem")
    certificate = authority.issue_cert(server.address)
    certificate.private_key_pem.write_to_path(server.home / "key.pem")
    for pem in certificate.cert_chain_pems:
        pem.write_to_path(server.home / "cert.pem", append=True)
    made = server.run(*LESSONS, "serve", "token", "add", "alice", "--brain", "shop")
    token = agent.home / "token"
    token.write_text(made.stdout)
    token.chmod(0o600)
    with socket.create_server((server.address, 0)) as free:
        port = free.getsockname()[1]
    tls = ("--tls-cert", "../cert.pem", "--tls-key", "../key.pem")
    listen = ("--host", server.address, "--port", str(port))
    process = subprocess.Popen(
        [*LESSONS, "serve", f"shop={server.home}/shop", *listen, *tls],
        env=server.environment(),
        cwd=server.home / "work",
    )
    url = f"https://{server.address}:{port}"
    try:
        _wait(f"{url}/ready", authority, process)
        given = ("--server", f"{url}/v1/brains/shop", "--token-file", str(token))
        mine = str(agent.home / "ca.pem")
        done = agent.run(*LESSONS, "install", "claude-code", *given, SSL_CERT_FILE=mine)
        assert done.returncode == 0, done.stderr
        assert "✓ server: shop at " in done.stderr
        settings = agent.home / ".config/lessons-kb/settings.toml"
        settings.write_text(settings.read_text() + "seconds = 15\n")
        context, line = agent.hook("s1")
        assert "Telegram remote execution must require an allowlist" in context
        assert "- [ ] Reject every chat id" in context
        assert line == "Lessons: 1 (“Telegram remote execution must require an allowlist”)"
        assert agent.hook("s1") == ("", "")  # it has them
        _ask_daemon(agent)
        # A certificate of somebody else's is not believed, and nothing is sent.
        settings.write_text(settings.read_text().replace(mine, str(agent.home / "other.pem")))
        context, line = agent.hook("s2")
        assert context == ""
        assert "has a certificate that is not trusted" in line
        assert agent.hook("s2") == ("", "")
        settings.write_text(settings.read_text().replace("other.pem", "ca.pem"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        _forget_failure(agent)
        context, line = agent.hook("s3")
        assert (context, "does not answer" in line) == ("", True)
        told = agent.run(*LESSONS, "doctor").stdout
        assert f"⚠ server: {url}/v1/brains/shop does not answer" in told
    finally:
        process.kill()
        process.wait()


def _wait(url, authority, process):
    context = ssl.create_default_context()
    authority.configure_trust(context)

    def answers():
        assert process.poll() is None
        with contextlib.suppress(OSError):
            urllib.request.urlopen(url, timeout=10, context=context).close()
            return True

    wait_until(answers, 60)


def _ask_daemon(agent):
    """Ask until the daemon runs, and the server was in time: it has half a second."""
    until = time.monotonic() + 60
    try:
        for number in range(1_000):
            agent.hook(f"d{number}", LESSONS_DAEMON="1")
            told = agent.run(*LESSONS, "daemon", "status", "--json", LESSONS_DAEMON="1").stdout
            _forget_failure(agent)
            if json.loads(told or "null"):
                context, _line = agent.hook(f"e{number}", LESSONS_DAEMON="1")
                if CARD in context:
                    return
            assert time.monotonic() < until, told
    finally:
        agent.run(*LESSONS, "daemon", "stop", LESSONS_DAEMON="1")


def _forget_failure(agent):
    (agent.home / ".local/state/lessons-kb/server-backoff.json").unlink(missing_ok=True)
