"""Which prompts draw a card: about it, like its examples, in any language, no mere question."""

import pytest

from lessons_kb import Brain

SPANISH = {
    "moneda": """# Una factura usa la cotización guardada

## Root Cause
El importe en pesos se calculaba con la cotización del dólar del día y no con la guardada, por eso
cada vez que se abría la factura el importe era otro.

## Prevention Checklist
- [ ] Leer la cotización guardada en la factura
- [ ] No recalcular los importes de las facturas emitidas
""",
    "remito": """# El remito toma los artículos del pedido

## Root Cause
El remito se armaba con lo que había en la pantalla, que no es lo que se guarda en el pedido.

## Prevention Checklist
- [ ] Tomar los artículos y las cantidades del pedido guardado
- [ ] No permitir que se edite el remito cuando ya se imprimió
""",
    "sesion": """# Una sesión vencida no recarga la pantalla

## Root Cause
Cuando el servidor contesta 401 se recarga la página y el usuario pierde lo que estaba haciendo.

## Prevention Checklist
- [ ] Mostrar el formulario de ingreso encima de la pantalla
- [ ] Probar con una sesión que vence mientras se edita
""",
    "telegram": """# The telegram bot answers chats that are not on the allowlist

## Root Cause
The bot read the chat id after it had answered.

## Prevention Checklist
- [ ] Compare the chat id with the allowlist first
""",
}
ABOUT_A_CARD = {
    "el importe en pesos de la factura cambia con la cotización del dólar": "moneda",
    "en el remito no aparecen las cantidades de los artículos del pedido": "remito",
    "cuando vence la sesión se recarga la pantalla y se pierde el formulario": "sesion",
    "quiero que el bot de telegram ignore los chats que no están en la allowlist": "telegram",
}
ABOUT_SOMETHING_ELSE = [
    "por que no se ve el botón?",
    "no, eso no es lo que te pedí, fijate que no se ve en la lista",
    "sigue sin funcionar, que es lo que está pasando?",
    "en la barra de la izquierda, los nombres no se ven bien, están cortados",
    "AHORA NO SE VE NADA DE LO QUE HABIA EN LA LISTA",
    "por que falla el build en la rama de desarrollo?",
    "agregá una columna con el peso y que se pueda ordenar por ella",
    "está perfecto, ahora lo mismo para los proveedores",
    "quiero que en el menú haya una opción para exportar a csv lo que se está viendo",
]


@pytest.fixture
def drawn(root, write):
    """Return the names of the cards that a prompt draws from a brain of these."""

    def drawn(prompt, **cards):
        for name, text in cards.items():
            write(f"lessons/{name}.md", text)
        with Brain.open(root, directory=root) as brain:
            hits = brain.preflight(prompt, context=False).lessons
        return [hit.card.id.removeprefix("lessons/").removesuffix(".md") for hit in hits]

    return drawn


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ABOUT_SOMETHING_ELSE)
def test_function_words_draw_no_lesson(drawn, prompt):
    assert drawn(prompt, **SPANISH) == []


@pytest.mark.parametrize("prompt", ABOUT_A_CARD)
def test_a_card_about_the_prompt_is_given(drawn, prompt):
    assert drawn(prompt, **SPANISH) == [ABOUT_A_CARD[prompt]]


TELEGRAM = """---
title: Telegram remote execution must require an allowlist
{}:
  - {}
---

## Root Cause

The handler of the Telegram bot never looked at the sender.

## Prevention Checklist

- Reject every chat id that is not on the allowlist
"""
ABOUT = "Add a Telegram command that restarts the bot for every chat on the allowlist"
FAR = "we should let Mina switch the lamp in the hall off from her phone"


@pytest.mark.parametrize(("key", "text", "prompt", "is_drawn"), [
    ("tags", "bot", ABOUT, True),
    ("tags", "bot", FAR, False),
    ("not-for", ABOUT, ABOUT, False),
    ("not-for", ABOUT, ABOUT.lower() + ", please", False),
    ("not-for", ABOUT, f"Now: {ABOUT}!", False),
    ("not-for", FAR, ABOUT, True),
    ("examples", FAR, FAR, True),
    ("examples", FAR, f"hey, {FAR} please", True),
    ("examples", FAR, FAR.upper(), True),
])  # fmt: skip
def test_examples_draw_a_card_and_not_for_silences_it(root, drawn, key, text, prompt, is_drawn):
    assert drawn(prompt, a=TELEGRAM.format(key, text)) == ["a"] * is_drawn
    with Brain.open(root) as brain:
        (hit,) = brain.search(prompt, limit=1) or [None]
    reason = "suppressed: nearly one of its `not-for` prompts"
    assert (hit is not None and hit.reason == reason) == (key == "not-for" and not is_drawn)


CENTS = """---
title: Totals are integers of cents
severity: high
paths: ["src/billing/*.py"]
symptoms: ["sum up an invoice, rounding of money"]
---
## Root Cause
Floats lose cents when they are added.
## Prevention Checklist
- Keep amounts in integer cents
"""


@pytest.mark.parametrize(("prompt", "is_drawn"), [
    ("what does total() in src/billing/invoice.py return?", False),
    ("Explain src/billing/invoice.py", False),
    ("fix total() in src/billing/invoice.py", True),
    ("Can you change src/billing/invoice.py so that it returns a list?", True),
    ("why do we lose cents when we sum up an invoice in src/billing/invoice.py?", True),
])  # fmt: skip
def test_a_question_draws_no_card_of_the_file_it_names(drawn, prompt, is_drawn):
    bot = TELEGRAM.format("tags", "bot")
    assert drawn(prompt, cents=CENTS, bot=bot) == ["cents"] * is_drawn
