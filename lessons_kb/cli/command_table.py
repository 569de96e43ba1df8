"""The table of commands: the heading in the help, a summary, and the module that runs it.

Each command is imported by name when it is called, so `--help` imports no command, and no command
imports another one. A summary repeats the first line of the function's docstring, because the help
must not import the function. A test compares the two.
"""

from __future__ import annotations

EVERY_DAY = "Every day"
"""The heading of the commands that `lessons` also lists without a command."""
GROUPS = {
    EVERY_DAY: {
        "add": "Add a complete card in one command, or list what it lacks.",
        "list": "List cards, most recent first.",
        "show": "Print a card or a note.",
        "edit": "Open a card in your editor, and list what it still needs.",
        "search": "Search active cards and notes, without the threshold.",
        "why": "Explain what was injected last, and why the rest was not.",
        "review": "Review drafts on one screen: accept, edit, merge or discard.",
        "bump": "Count a mistake that happened again.",
        "confirm": "Record that cards are still true: set `confirmed` to today.",
        "manage": "Browse and edit cards and drafts in full screen.",
    },
    "Setup": {
        "setup": "Connect the agents on this machine, and try a first lesson.",
        "init": "Create a brain: lessons.toml, a cache and folders for cards.",
        "trust": "Allow the cards of a brain to reach your agents.",
        "install": "Connect a coding agent: add hooks and the MCP server.",
        "uninstall": "Remove hooks and the MCP server from a coding agent.",
        "config": "Print the settings in effect and the origin of each.",
        "completion": "Complete commands, options and card ids in your shell.",
        "doctor": "Check brain, index, agents and permissions; suggest fixes.",
        "upgrade": "Update the installed hooks after an upgrade of the package.",
    },
    "More lessons": {
        "create": "Write a new card from the template, for you to fill in.",
        "mine": "Find lessons in past agent sessions and commits (read-only).",
        "import": "Import lessons from other files; --yes writes the cards.",
        "diet": "Move conditional rules from rules files to cards.",
        "export": "Print every card, or write rules for agents without hooks.",
    },
    "Upkeep": {
        "rename": "Give a card a new title; update file name, links and journal.",
        "lint": "Report problems in cards, each with its line and a fix.",
        "ignore": "Silence cards that do not apply here; `restore` undoes it.",
        "archive": "Retire cards that no longer apply; `restore` undoes it.",
        "delete": "Move cards to the trash; `restore` brings them back.",
        "restore": "Make ignored, archived or deleted cards active again.",
        "index": "Update the index; with --watch, keep it up to date.",
        "watch": "Keep the index up to date while files are edited.",
        "sync": "Push the changes of the nearest brain to a shared cluster.",
    },
    "Does it work?": {
        "preflight": "Print the lessons that matter for a prompt, or nothing.",
        "check": "Check an answer or a diff against the lessons' checklists.",
        "detect": "Find the mistakes that cards describe by patterns (`detect`).",
        "mark": "Record that a lesson helped, misled or was not relevant.",
        "escalate": "Propose a stronger step for a lesson whose mistake came back.",
        "stats": "Show what was injected, which mistakes recurred, what helps.",
        "report": "Write an HTML report on which lessons are used and help.",
        "trial": "Let an agent do the same tasks with and without lessons.",
        "eval": "Measure retrieval on labelled prompts, and list the errors.",
    },
    "For programs": {
        "run": "Run a command and record how it ended.",
        "events": "List observed events, newest last.",
        "mcp": "Serve lessons to MCP clients, over stdio by default.",
        "serve": "Serve brains over HTTP, to agents and as web pages.",
        "lsp": "Serve lessons to an editor, over standard input and output.",
        "daemon": "Run, inspect or stop the process that answers hooks.",
        "merge-driver": "Merge three versions of a card into the second file, for git.",
    },
}
"""Maps a heading of the help to its commands and their summaries."""
SUMMARIES = {name: summary for group in GROUPS.values() for name, summary in group.items()}
FUNCTIONS = {
    "eval": "evaluate",
    "import": "import_cards",
    "list": "list_cards",
    "merge-driver": "merge_driver",
}
"""Maps a command to the name of its function, if the two differ."""
HIDDEN = ("merge-driver", "watch")
"""A command that only git calls, and the former name of `index --watch`, which works for one more
release."""


def function_name(command: str) -> str:
    """Return the name of a command's function, which is also its module's name in ``commands``."""
    return FUNCTIONS.get(command, command)
