#!/usr/bin/env bash
# pymdownx.superfences with pymdownx.highlight drops the language of a code block from the HTML.
#
# Expected: a block that begins with "```sh" has the class `language-sh`, as Markdown's own
# fenced_code gives it, so that a style sheet can address one language.
# Seen (pymdown-extensions 10.21, the highlighter of Material for MkDocs): the class is only
# `highlight`. The option `pygments_lang_class`, off by default, brings it back.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  pymdown-extensions==10.21 markdown==3.10 pygments==2.19.2

cat > "$folder/show.py" <<'PYTHON'
import re

import markdown

CLASS = re.compile(r"class=\"([^\"]*)\"")
TEXT = "```sh\nls\n```\n"
SETTINGS = {
    "fenced_code": (["fenced_code"], {}),
    "superfences and highlight": (["pymdownx.superfences", "pymdownx.highlight"], {}),
    "with pygments_lang_class": (
        ["pymdownx.superfences", "pymdownx.highlight"],
        {"pymdownx.highlight": {"pygments_lang_class": True}},
    ),
}
for name, (extensions, options) in SETTINGS.items():
    html = markdown.markdown(TEXT, extensions=extensions, extension_configs=options)
    print(f"{name}: {CLASS.findall(html)[:1]}")
PYTHON
"$folder/venv/bin/python" "$folder/show.py" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
fenced_code: ['language-sh']
superfences and highlight: ['highlight']
with pygments_lang_class: ['language-sh highlight']
TEXT
