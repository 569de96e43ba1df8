"""The code gets no thinner: each figure is at most what stands in golden/density.json.

``pytest tests/test_density.py --update`` writes the figures anew, after they have improved.
"""

import ast
import collections
import io
import json
import pathlib
import tokenize

import pytest

HERE = pathlib.Path(__file__).parent
FILES = sorted((HERE.parent / "lessons_kb").rglob("*.py"))
FIGURES = HERE / "golden" / "density.json"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def _span(node):
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _code_lines(text, tree):
    """The number of lines that are neither blank, comment, docstring nor import."""
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                code.difference_update(_span(node))
    return len(code)


def _private_functions(tree):
    """How often each private function of the module's top is referenced in it."""
    references = collections.Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    return [
        references[node.name]
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("_")
        and not node.name.startswith("__")
    ]


def _is_broad(handler):
    return handler.type is None or any(
        isinstance(node, ast.Name) and node.id in ("Exception", "BaseException")
        for node in ast.walk(handler.type)
    )


def _figures():
    code = broad = 0
    private = []
    names = collections.defaultdict(set)
    for path in FILES:
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        code += _code_lines(text, tree)
        private += _private_functions(tree)
        if path.name != "__init__.py":
            names[path.name].add(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                names[node.name].add(path)
            elif isinstance(node, ast.ExceptHandler):
                broad += _is_broad(node)
    return {
        "code lines": code,
        "files": len(FILES),
        "private functions referenced once, in percent": round(
            100 * private.count(1) / len(private), 1
        ),
        "names of files and classes that stand twice": sum(len(p) > 1 for p in names.values()),
        "handlers of Exception": broad,
    }


@pytest.mark.slow
def test_no_figure_of_density_gets_worse(request):
    found = _figures()
    if request.config.getoption("--update"):
        FIGURES.write_text(json.dumps(found, indent=2) + "\n")
    assert {
        name: (found[name], most)
        for name, most in json.loads(FIGURES.read_text()).items()
        if found[name] > most
    } == {}
