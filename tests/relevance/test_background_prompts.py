"""How readily prompts about other things draw a card."""

import json
import math
import pathlib
import random

import pytest

from lessons_kb.relevance import background_prompts
from lessons_kb.relevance.background_batch import measure_backgrounds
from lessons_kb.relevance.background_prompts import (
    UNKNOWN,
    guess_shares,
    is_known_language,
    measure_background,
    measure_rarity,
    read_background,
)
from lessons_kb.text.analyzer import analyze, get_share
from tests.kit import read_lines

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPTS = ROOT / "benchmarks/labelled/background_prompts.jsonl"

HOW_WE_WORK = """\
Before you open a pull request run the tests, look at the failing ones first, fix them, and write
a short plan. Update the docs and the readme, check the logs, review the change, and ask when the
build in CI is red. Keep commits small, merge the branch when the tests pass, and deploy.
"""
ONE_FUNCTION = "The rope solver diverges: clamp the angular velocity of a hinge before the sweep."


def test_a_card_about_everything_is_drawn_more_readily_than_one_about_one_thing():
    broad, narrow = (measure_background(analyze(text)) for text in (HOW_WE_WORK, ONE_FUNCTION))
    assert narrow < broad < UNKNOWN + 2


def test_a_longer_card_with_the_same_words_shares_them_more_by_chance():
    terms = analyze(HOW_WE_WORK)
    assert measure_background(terms * 5) < measure_background(terms)


def test_a_word_is_the_rarer_the_fewer_prompts_hold_it():
    rarities = [measure_rarity(term) for term in ("test", "push", "spinner", "qwertz")]
    assert rarities == sorted(rarities)
    assert rarities[0] < 3
    assert rarities[-1] == measure_rarity("zzyzx") < 8


def test_the_shipped_terms_are_those_of_a_thousand_written_prompts():
    prompts = [json.loads(line)["prompt"] for line in PROMPTS.read_text("utf-8").splitlines()]
    lines = [" ".join(dict.fromkeys(analyze(prompt))) for prompt in prompts]
    shipped = read_lines("background_prompts.txt")
    assert len(shipped) >= 1_000
    agreeing = len(set(shipped) & set(filter(None, lines)))
    assert agreeing >= 0.99 * len(shipped)  # Snowball corrects a rule from time to time


SPANISH = "cuando guardo la factura no se actualiza el saldo del cliente, hay que arreglarlo"
FOREIGN = [
    SPANISH,
    "quando salvo a fatura o saldo do cliente não muda, você pode corrigir isso",
    "quand je valide la facture le solde du client ne change pas, est-ce que tu peux corriger",
    "wenn ich die Rechnung speichere, ändert sich der Kontostand nicht, bitte beheben",
    "po zapisaniu faktury saldo klienta się nie zmienia, czy możesz to naprawić",
    "fatura kaydedilince bakiye değişmiyor, bunu düzeltir misin lütfen",
    "после сохранения счёта баланс клиента не меняется, исправь это",
    "μετά την αποθήκευση το υπόλοιπο δεν αλλάζει, διόρθωσέ το",
]
ENGLISH = [
    "the balance does not change when I save an invoice, please fix it",
    "ok next one",
    "move getUserName from src/app/users.ts to lib/names.ts and run `pnpm vitest`",
    "Traceback (most recent call last): KeyError: 'kontostand' in saldo_rechner.py line 12",
    "why does it take prosemirror longer than slate to render a long list here?",
    "",
]


def guess(text):
    return guess_shares(text, analyze(text))


@pytest.mark.parametrize("text", ENGLISH)
def test_a_word_that_an_english_prompt_adds_to_the_table_is_rare(text):
    assert guess(text) == {}


@pytest.mark.parametrize("text", FOREIGN)
def test_of_another_language_no_word_is_rare_for_not_being_listed(text):
    guessed = guess(text)
    unlisted = {term for term in analyze(text) if get_share(term) is None}
    assert unlisted
    assert guessed.keys() >= unlisted
    assert all(0.01 < share < 1 for share in guessed.values())


def test_short_words_that_english_has_by_chance_are_guessed_too():
    assert get_share("el") < 0.01
    assert guess(SPANISH)["el"] > 0.3


def test_names_stay_rare():
    text = f"{SPANISH}, mira deudaService.recalcular() en src/deudas/calculo.py y `conciliador`"
    assert guess(text).keys().isdisjoint(analyze("deudaService recalcular calculo conciliador"))
    text = "после сохранения счёта telegraf не отправляет сообщение в chokidar, исправь это"
    assert guess(text).keys().isdisjoint({"telegraf", "chokidar"})


def test_a_prompt_in_capitals_is_read_as_one_in_small_letters():
    assert guess(SPANISH.upper()) == guess(SPANISH)


@pytest.mark.parametrize(("text", "common", "rare"), [
    ("这是什么问题，请修复数据库的弹性文件", "问题", "弹性"),
    ("この画面の表示がおかしいので、弾性を直してください", "この", "弾性"),
    ("이거 지금 안 되는데 로그인 화면에서 왜 그런지 확인하고 콘덴서 고쳐줘", "지금", "콘덴"),
])  # fmt: skip
def test_pairs_of_characters_are_as_common_as_in_other_prompts(text, common, rare):
    guessed = guess(text)
    shares = {term: guessed.get(term, get_share(term)) for term in (common, rare)}
    assert shares[common] > 2 * shares[rare]
    assert all(get_share(term) is None for term in guessed)


def test_the_language_of_a_card():
    english = (
        "The gate must not read the socket twice",
        "It blocked the whole worker for a minute, and nobody saw it.",
    )
    assert is_known_language(english)
    assert not is_known_language(("Factura sin saldo actualizado", "No se recalcula el saldo."))
    assert not is_known_language((*english, "no se ve bien en modo oscuro"))
    assert not is_known_language(("索引文件在保存时丢失", ""))
    for heading in ("US-012: Confirmación de Logout", "Checklist Avant Commit", ""):
        assert not is_known_language((heading, "", heading))


def test_many_cards_measured_at_once_have_the_figures_of_each():
    source = random.Random(4)
    vocabulary = [*read_background()[0], "zanzibar", "xylophone"]
    cards = [source.choices(vocabulary, k=source.randint(1, 600)) for _ in range(60)]
    cards += [[], ["zanzibar"], ["file"], ["test"] * 9]
    alone = [measure_background(card) for card in cards]
    assert measure_backgrounds(cards) == alone
    assert len(set(alone)) > 30


def test_a_process_that_looks_up_many_terms_gets_the_same_rarities(monkeypatch):
    terms = {term for line in read_lines("background_prompts.txt") for term in line.split()[:3]}
    rarities = []
    for few in (0, math.inf):
        monkeypatch.setattr(background_prompts, "_FEW_TERMS", few)
        measure_rarity.cache_clear()
        rarities.append({term: measure_rarity(term) for term in (*terms, "zzyzx")})
    assert rarities[0] == rarities[1]
