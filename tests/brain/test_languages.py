"""Prompts in other languages than English: as silent, and there when it matters."""

import pytest

from lessons_kb import Brain

CARDS = {
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
ABOUT = {
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
def brain(root, write):
    for name, text in CARDS.items():
        write(f"lessons/{name}.md", f"---\ntype: lesson\n---\n{text}")
    return Brain.open(root)


@pytest.mark.slow
@pytest.mark.parametrize("prompt", ABOUT_SOMETHING_ELSE)
def test_function_words_draw_no_lesson(brain, prompt):
    assert [hit.card.id for hit in brain.preflight(prompt, context=False).lessons] == []


@pytest.mark.parametrize("prompt", ABOUT)
def test_a_card_about_the_prompt_is_given(brain, prompt):
    given = [hit.card.id for hit in brain.preflight(prompt, context=False).lessons]
    assert given == [f"lessons/{ABOUT[prompt]}.md"]
