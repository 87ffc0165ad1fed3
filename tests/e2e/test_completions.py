"""Raw completions and responses by the real engine."""

import pytest

GREEDY = {"model": "tiny", "temperature": 0, "max_tokens": 8}


def test_text_and_token_ids_give_the_same_completion(client):
    by_text = client.completions.create(
        prompt="abc", extra_body={"return_token_ids": True}, **GREEDY
    ).choices[0]
    by_ids = client.completions.create(prompt=by_text.prompt_token_ids, **GREEDY).choices[0]
    assert by_ids.text == by_text.text
    assert len(by_text.token_ids) == 8
    assert by_text.finish_reason == "length"


def test_choices_of_a_batch_equal_those_alone(client):
    batch = client.completions.create(prompt=["abc", "xyz"], n=2, **GREEDY).choices
    for index, prompt in enumerate(["abc", "abc", "xyz", "xyz"]):
        alone = client.completions.create(prompt=prompt, **GREEDY).choices[0]
        assert batch[index].text == alone.text


def test_the_greedy_token_is_the_likeliest(client):
    logprobs = client.completions.create(prompt="abc", logprobs=3, **GREEDY).choices[0].logprobs
    for chosen, top in zip(logprobs.token_logprobs, logprobs.top_logprobs):
        assert chosen == pytest.approx(max(top.values()))


def test_ignore_eos_and_min_tokens_give_a_fixed_length(client):
    answer = client.completions.create(prompt="abc", extra_body={"ignore_eos": True}, **GREEDY)
    assert answer.usage.completion_tokens == 8


def test_a_response_streams_to_its_limit(client):
    events = list(
        client.responses.create(
            model="tiny", input="abc", temperature=0, max_output_tokens=8, stream=True
        )
    )
    last = events[-1].response
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert last.status in ("completed", "incomplete")
    assert 1 <= last.usage.output_tokens <= 8
