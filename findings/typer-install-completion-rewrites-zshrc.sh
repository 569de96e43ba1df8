#!/usr/bin/env bash
# typer's `--install-completion zsh` changes how zsh completes every program, not only its own.
#
# Expected: one line that loads the completion script is appended to ~/.zshrc.
# Seen (typer 0.26.8): the file is written anew, stripped at both ends, and gets a `zstyle` that
# turns the completion menu on for all programs (`:completion:*`). Typer offers no way back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check typer==0.26.8

cat > "$folder/app.py" <<'PYTHON'
import typer

app = typer.Typer()


@app.command()
def main() -> None:
    """Do nothing."""


app(prog_name="demo")
PYTHON
mkdir "$folder/home"
printf '\n\n# mine\nalias ll="ls -l"\n\n' > "$folder/home/.zshrc"
# With this variable typer takes the shell from the argument, and not from the running shell.
HOME="$folder/home" _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION=1 \
  "$folder/venv/bin/python" "$folder/app.py" --install-completion zsh > /dev/null
cat > "$folder/expected" <<'TEXT'
# mine
alias ll="ls -l"


fpath+=~/.zfunc; autoload -Uz compinit; compinit

zstyle ':completion:*' menu select
TEXT
sed 's/ *$//' "$folder/home/.zshrc" | tee "$folder/seen"
diff "$folder/expected" "$folder/seen"
