"""The OpenAI SDK against the whole server: socket to kernel and back, on a small checkpoint."""

import asyncio

import openai
import pytest
from programs import ROOT

HELLO = [{"role": "user", "content": "hello there"}]
# Greedy and without reasoning, where the sampling parameters are the client's to choose.
GREEDY = {"temperature": 0, "extra_body": {"thinking": {"type": "disabled"}, "ignore_eos": True}}


def ask(client, **members):
    return client.chat.completions.create(
        **{"model": "tiny", "messages": HELLO, "max_tokens": 24, **GREEDY, **members}
    )


def text_of(stream):
    return "".join(
        choice.delta.content or "" for chunk in stream for choice in chunk.choices
    )


def test_models_lists_the_served_name(client):
    (model,) = client.models.list().data
    assert model.id == "tiny"
    assert client.models.retrieve("tiny").id == "tiny"


def test_health_and_readiness(server):
    for path in ("/health", "/readyz", "/livez"):
        assert server.get(path)[0] == 200


def test_plain_answer_is_complete(client):
    answer = ask(client)
    assert answer.object == "chat.completion"
    assert answer.choices[0].finish_reason == "length"
    assert answer.choices[0].message.role == "assistant"
    assert answer.usage.completion_tokens == 24
    assert answer.usage.prompt_tokens > 0


def test_streamed_answer_equals_the_plain_one(client):
    assert text_of(ask(client, stream=True)) == ask(client).choices[0].message.content


def test_tokens_arrive_one_by_one(client):
    chunks = [c for c in ask(client, stream=True) if c.choices and c.choices[0].delta.content]
    assert len(chunks) > 3


def test_seed_repeats_an_answer(client):
    def sampled(seed):
        extra = {"thinking": {"type": "disabled"}, "ignore_eos": True}
        answer = ask(client, temperature=1, seed=seed, extra_body=extra)
        return answer.choices[0].message.content

    assert sampled(1) == sampled(1)
    assert len({sampled(seed) for seed in range(1, 6)}) > 1


def test_logprobs_are_reported(client):
    entries = ask(client, max_tokens=4, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert entries
    for entry in entries:
        assert entry.logprob <= 0
        assert len(entry.top_logprobs) == 2
        assert entry.top_logprobs[0].logprob >= entry.top_logprobs[1].logprob


def test_long_prompt_is_prefilled_in_chunks(client):
    long = [{"role": "user", "content": "the quick brown fox " * 100}]
    assert ask(client, messages=long, max_tokens=4).usage.completion_tokens == 4


def test_thirty_two_parallel_requests_get_their_own_answers(server):
    async def gather():
        async with openai.AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key="unused", max_retries=0, timeout=server.patience_s
        ) as client:

            async def one(number):
                messages = [{"role": "user", "content": f"request {number}"}]
                stream = await client.chat.completions.create(
                    model="tiny", messages=messages, max_tokens=16, stream=True, **GREEDY
                )
                return "".join(
                    [c.delta.content or "" async for chunk in stream for c in chunk.choices]
                )

            together = await asyncio.gather(*(one(number % 16) for number in range(32)))
            alone = [await one(number) for number in range(3)]
            return together, alone

    together, alone = asyncio.run(gather())
    assert together[:16] == together[16:]
    assert together[:3] == alone
    assert len(set(together)) > 8


def test_closing_a_stream_early_frees_the_request_within_a_step(client, server):
    for _ in range(5):
        stream = ask(client, stream=True, max_tokens=3000)
        next(iter(stream))
        assert server.metric("num_requests_running") == 1
        finished = server.metric("request_success_total")
        generated = server.metric("generation_tokens_total")
        abandoned = server.metric("abandoned_tokens_total")
        stream.close()
        server.wait_for_metric("num_requests_running", lambda running: running == 0)
        assert server.metric("kv_cache_usage_perc") == 0
        assert server.metric("request_success_total") == finished + 1
        # One step may be under way when the server learns of it; it makes one token.
        assert server.metric("abandoned_tokens_total") - abandoned <= 1
        # It asked for 3000 tokens and was asked for none of the rest.
        assert server.metric("generation_tokens_total") - generated < 1000


@pytest.mark.parametrize(
    ("members", "error", "words"),
    [
        ({"model": "other"}, openai.NotFoundError, "other"),
        ({"messages": []}, openai.BadRequestError, "messages"),
        ({"max_tokens": 0}, openai.BadRequestError, "max_tokens"),
        ({"temperature": 3}, openai.BadRequestError, "temperature"),
        ({"top_p": 0}, openai.BadRequestError, "top_p"),
        ({"messages": [{"role": "robot", "content": "x"}]}, openai.BadRequestError, "role"),
        ({"max_tokens": 100000}, openai.BadRequestError, ""),
        ({"messages": [{"role": "user", "content": "x " * 8000}]}, openai.BadRequestError, ""),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": True}}},
            openai.BadRequestError,
            "schema",
        ),
        ({"logprobs": False, "top_logprobs": 3}, openai.BadRequestError, "top_logprobs"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_request_is_the_sdks_exception(client, members, error, words):
    with pytest.raises(error) as raised:
        ask(client, **members)
    assert words in str(raised.value)
    assert raised.value.body["message"]


def test_unknown_route_is_not_found(client):
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="tiny", input="x")


def test_full_queue_is_refused_at_once(programs):
    server = programs.start_server(
        ROOT / "tests/data/tiny-a",
        *("--served-model-name", "tiny", "--max-num-seqs", 1, "--max-num-queued-reqs", 0),
    )
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
        stream = ask(client, stream=True, max_tokens=3000)
        next(iter(stream))
        with pytest.raises((openai.RateLimitError, openai.InternalServerError)) as refused:
            ask(client)
        assert refused.value.status_code in (429, 503)
        stream.close()
    assert server.stop() == 0


def test_f06_server_says_why_it_cannot_start(programs, tmp_path):
    missing = programs.run("deepinfer-server", tmp_path / "none")
    assert missing.returncode == 3
    assert "none" in missing.stderr
    bad_flag = programs.run("deepinfer-server", ROOT / "tests/data/tiny-a", "--max-num-seqs", 0)
    assert bad_flag.returncode == 2
    assert bad_flag.stderr.strip().startswith("--max-num-seqs")
