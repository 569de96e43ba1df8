"""The commands: under which heading of the help, what each does, and the module that runs it.

A command is loaded by name, so that the help loads none and a command loads no other. The summary
repeats the first line of the function's docstring: the help must not import it. A test compares
the two.
"""

from __future__ import annotations

GROUPS = {
    "Every day": {
        "add": "Add a complete card in one line, or learn what it needs.",
        "create": "Write a new card from its template, to be filled in.",
        "edit": "Open a card in your editor, and say what it still needs.",
        "list": "List cards, most recent first.",
        "show": "Print a card or a note.",
        "search": "Search active cards and notes, by the words alone.",
        "preflight": "Print the lessons that matter for a prompt, or nothing.",
        "check": "Check an answer or a diff against the lessons' checklists.",
        "why": "Explain what was injected last, and why the rest was not.",
        "review": "Review drafts on one screen: accept, edit, merge or discard.",
        "bump": "Count a mistake that happened again.",
        "confirm": "Note that cards are still true: `confirmed` becomes today.",
        "mark": "Record that a lesson helped, misled or was not relevant.",
        "manage": "Browse and edit cards and drafts on a full screen.",
    },
    "Setup": {
        "setup": "Connect the agents found here, and see a lesson arrive.",
        "init": "Create a brain: lessons.toml, a cache and folders for cards.",
        "trust": "Allow the cards of a brain to reach your agents.",
        "mine": "Find lessons in past agent sessions and commits; read only.",
        "import": "Import lessons kept elsewhere; --yes writes them.",
        "diet": "Move rules that apply now and then from rules files to cards.",
        "install": "Connect a coding agent: add hooks and the MCP server.",
        "uninstall": "Remove hooks and the MCP server from a coding agent.",
        "config": "Print the settings in effect and the origin of each.",
        "doctor": "Check brain, index, agents and permissions; suggest fixes.",
        "upgrade": "Bring hooks to this version after an upgrade.",
    },
    "Upkeep": {
        "rename": "Give a card another title; file name, links and journal follow.",
        "lint": "Report problems in cards, each with its line and a fix.",
        "detect": "Find the mistakes that cards describe by patterns (`detect`).",
        "stats": "Show what was injected, what came back, and what helps.",
        "report": "Write an HTML report on which lessons come up and help.",
        "trial": "Let an agent do the same tasks with and without lessons.",
        "eval": "Measure retrieval on labelled prompts; name what went wrong.",
        "ignore": "Silence cards that do not fit here; `restore` undoes it.",
        "archive": "Retire cards that hold no more; `restore` undoes it.",
        "delete": "Move cards to the trash; `restore` brings them back.",
        "restore": "Make ignored, archived or deleted cards active again.",
        "export": "Print every card; `import` reads json and jsonl.",
        "index": "Update the index and report what happened to every file.",
        "watch": "Keep the index up to date while files are edited.",
        "sync": "Push what changed in the nearest brain to a shared cluster.",
    },
    "For programs": {
        "run": "Run a command and record how it ended.",
        "events": "List observed events, newest last.",
        "mcp": "Serve lessons to MCP clients, over stdio by default.",
        "serve": "Serve brains over HTTP: to agents, and to people as pages.",
        "lsp": "Serve lessons to an editor, over standard input and output.",
        "daemon": "Run, inspect or stop the process that answers hooks.",
        "merge-driver": "Merge three versions of a card into the second file, for git.",
    },
}
"""Heading of the help → command → summary."""
SUMMARIES = {name: summary for group in GROUPS.values() for name, summary in group.items()}
FUNCTIONS = {
    "eval": "evaluate",
    "import": "import_cards",
    "list": "list_cards",
    "merge-driver": "merge_driver",
}
"""Command → its function, where that has another name."""
HIDDEN = ("merge-driver",)
"""Commands that only other programs call."""


def function_name(command: str) -> str:
    """Return the name of a command's function, which is that of its module in ``commands``, too."""
    return FUNCTIONS.get(command, command)
