"""The report of ``lessons report`` as a page of the server."""

from __future__ import annotations

import datetime as dt

from starlette.responses import Response

from lessons_kb.report import build_page, style_hash
from lessons_kb.service.web.pages.html_response import show_html
from lessons_kb.service.web.pages.view import View
from lessons_kb.store.card_files import read_template


def show_report(view: View) -> Response:
    """Show the report of ``lessons report``, its links leading to the pages of the cards."""
    template = read_template("report.html")
    page = build_page(
        view.served.find().stats.overview(),
        template=template,
        brain=view.served.name,
        made=dt.datetime.now(tz=dt.UTC).date().isoformat(),
        link=lambda effect: view.address("cards", effect.card.id),
        home=view.address(),
    )
    return show_html(page, style=f"'sha256-{style_hash(template)}'")
