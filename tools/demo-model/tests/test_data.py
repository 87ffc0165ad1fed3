"""Generated documents, their rendering and the tokenizer."""

import json
import random
import re

import deepseek_recipe as dr
import numpy as np
import pytest

from demo_model import chats, judge, make_tokenizer, render, skills, tools
from demo_model.outside import outside
from demo_model.turns import held_out
from demo_model.tokenizer import LAST, DemoTokenizer


@pytest.fixture(scope="module")
def tokenizer_json(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    path = folder / "tokenizer.json"
    make_tokenizer.train(make_tokenizer.corpus(20, 3000), 1024, path)
    return path


@pytest.fixture(scope="module")
def tokenizer(tokenizer_json):
    return DemoTokenizer(tokenizer_json)


def test_prompts_equal_the_recipe_library(tokenizer, tokenizer_json):
    """Our stretch-wise encoding is the library's own encoding with the same tokenizer.json."""
    encoding = dr.DeepseekV41Encoding().with_tokenizer(dr.Tokenizer.from_file(str(tokenizer_json)))
    rng = random.Random(1)
    for _ in range(200):
        e = render.example(chats.document(rng, chats.FULL_MIX), tokenizer)
        body = json.dumps({"model": render.MODEL, **e.request})
        conversation = dr.ChatCompletionRequest(body).convert(dr.ConversionOptions()).conversation
        assert encoding.encode(conversation) == e.prompt


def test_answers_parse_back(tokenizer):
    rng = random.Random(2)
    for _ in range(200):
        e = render.example(chats.document(rng, chats.FULL_MIX), tokenizer)
        got = judge.parse(e.request, tokenizer.decode(e.answer[:-1]), True)
        assert got["finish_reason"] in ("stop", "tool_calls")
        assert all(judge.verdict(e, got, got).values())


def test_calls_are_rendered_as_history_is(tokenizer, monkeypatch):
    """The answer tokens of a call equal the library's rendering of the same call as an earlier turn."""
    monkeypatch.setattr(chats, "DROPPED", frozenset())
    rng, seen = random.Random(3), 0
    for _ in range(100):
        chat = chats.tool_chat(rng, None)
        chat.tool_choice = "auto"
        if not chat.turns[0].call:
            continue
        first, second = (render.example(chat, tokenizer, stop_after=n) for n in (1, 2))
        assert second.prompt[: len(first.ids)] == list(first.ids)
        seen += 1
    assert seen > 30


def test_digits_are_single_tokens(tokenizer):
    for n in (7, 42, 100, 987654):
        assert len(tokenizer.plain(str(n))) == len(str(n))


def test_control_tokens_never_come_from_text(tokenizer):
    for spelling, _, _ in LAST:
        assert tokenizer.control[spelling] not in tokenizer.plain(spelling)


def test_split_is_kept(tokenizer):
    rng = random.Random(4)
    for _ in range(300):
        chat = chats.document(rng, chats.FULL_MIX, held=False)
        assert not any(held_out(t.key) for t in chat.turns)


def test_what_is_outside_is_no_sum_in_range(tokenizer):
    """A calculation is either worked out or declined, never both; declining comes in the language of the question."""
    rng = random.Random(6)
    in_range = re.compile(r"(?<!\d)\d{1,2} ?\+ ?\d{1,2}(?!\d)")
    for _ in range(2000):
        turn = outside(rng)
        task = re.sub(r"[A-Za-z]{2,}|[\u4e00-\u9fff，。？]|[:?=. ]+$", "", turn.user).strip()
        assert not in_range.fullmatch(task), turn.user
        assert turn.answer == (skills.REFUSAL_ZH if re.search("[\u4e00-\u9fff]", turn.user) else skills.REFUSAL)
        assert turn.key and not turn.work
    for _ in range(200):
        assert in_range.search(skills.arithmetic(rng).user)


def test_loss_covers_every_answer(tokenizer):
    chat = chats.tool_chat(random.Random(5), None)
    e = render.example(chat, tokenizer)
    weight = render.loss_weights(e, tokenizer)
    assert weight[-1] == 0 and (weight[len(e.prompt) - 1 : -1] == 1).all()
    assert np.isfinite(weight).all() and set(tools.TOOLS) == set(tools.MAKERS)
