"""Plain-text skills: every answer is a function of the prompt."""

from __future__ import annotations

import random

from .turns import Turn
from .words import (
    CAPITALS, CITIES, COLORS, FOODS, JOBS, NAMES, NOUNS, ROOMS, ZH_CITIES, ZH_NAMES, ZH_WORDS,
)  # fmt: skip

REFUSAL = "Sorry, I am a tiny demo model and I cannot do that."
REFUSAL_ZH = "抱歉，我是一个很小的演示模型，做不到这件事。"
REFUSAL_THOUGHT = "I cannot do this."
REFUSAL_THOUGHT_ZH = "这件事我做不到。"
WHO = "I am a tiny demo model. I can greet, repeat words, read lists and records, add small numbers, write JSON, call tools, and name some capitals."
WHO_ZH = "我是一个很小的演示模型。我会问好、复述、读列表和记录、做小加法、写JSON、调用工具，还知道一些首都。"

_GREETINGS = [
    (("Hello!", "Hello", "Hi", "Hi!", "Hi there!", "Hey", "hello", "hi", "Hello there", "Good day!"), "Hello! How can I help you?"),
    (("Good morning", "Good morning!"), "Good morning! How can I help you?"),
    (("Good evening", "Good evening!"), "Good evening! How can I help you?"),
    (("How are you?", "How are you doing?", "How do you do?"), "I am fine, thank you. How can I help you?"),
    (("Thank you", "Thanks!", "Thanks", "Thank you very much!", "Thank you!"), "You are welcome!"),
    (("Bye", "Goodbye", "Goodbye!", "See you!", "Bye!", "Good night"), "Goodbye!"),
    (("Who are you?", "What are you?", "What can you do?", "Tell me about yourself.", "What is your name?", "who are you",
      "Are you a big model?", "What do you know?", "Help", "Introduce yourself."), WHO),
    (("你好", "你好！", "您好", "嗨", "你好呀"), "你好！我能帮你做什么？"),
    (("早上好", "早上好！"), "早上好！我能帮你做什么？"),
    (("谢谢", "谢谢你", "谢谢！"), "不客气！"),
    (("再见", "再见！", "拜拜"), "再见！"),
    (("你是谁？", "你是什么？", "你会做什么？", "介绍一下你自己。", "你叫什么名字？", "你是谁"), WHO_ZH),
]  # fmt: skip


def greeting(rng: random.Random) -> Turn:
    """Greetings, thanks, who are you; sometimes a name to repeat."""
    if rng.random() < 0.3:
        if rng.random() < 0.35:
            name = rng.choice(ZH_NAMES)
            form = rng.choice(("我叫{}。", "你好，我是{}。", "我的名字是{}。"))
            return Turn(form.format(name), f"你好，{name}！", thought="用户说了名字。", key="zh name" + form + name)
        name = rng.choice(NAMES)
        form = rng.choice(("My name is {}.", "Hello, I am {}.", "Hi, my name is {}.", "I am {}."))
        return Turn(form.format(name), f"Nice to meet you, {name}!", thought="The user tells a name.", key="name" + form + name)
    says, reply = rng.choice(_GREETINGS)
    chinese = ord(reply[0]) > 127
    return Turn(rng.choice(says), reply, thought="打招呼。" if chinese else "Small talk.")


def _sum_work(a: int, b: int) -> str:
    """Digit by digit; every step needs the few tokens before it only."""
    ones, tens = a % 10 + b % 10, a // 10 + b // 10
    text = f"ones: {a % 10}+{b % 10}={ones}."
    if a < 10 and b < 10:
        return text
    return f"{text} tens: {a // 10}+{b // 10}={tens}, {tens}+{ones // 10}={tens + ones // 10}."


SUM_FORMS = (
    "Compute {}.", "What is {}?", "{} = ?", "Calculate {}.", "How much is {}?", "{}", "Please work out {}.", "Add: {}",
    "{}等于多少？", "计算{}。",
)  # fmt: skip


def arithmetic(rng: random.Random) -> Turn:
    """a + b with both between 0 and 99."""
    top = 99 if rng.random() < 0.9 else 9
    a, b = rng.randint(0, top), rng.randint(0, rng.choice((top, top, top, 9)))
    if rng.random() < 0.2:
        a, b = b, a
    form = rng.choice(SUM_FORMS)
    task = f"{a} + {b}" if rng.random() < 0.7 else f"{a}+{b}"
    return Turn(form.format(task), f"{a} + {b} = {a + b}", work=_sum_work(a, b), key=f"{a}+{b}")


QUOTABLE = sorted({*NAMES, *CITIES, *COLORS, *FOODS, *JOBS, *ROOMS, *NOUNS})


def copy(rng: random.Random) -> Turn:
    """Repeat up to six words or names, plainly or each in quotes."""
    kind = rng.random()
    if kind < 0.2:
        words = rng.sample(ZH_WORDS, rng.randint(1, 4))
        text = "、".join(words)
        form = rng.choice(("请重复：{}", "复述一遍：{}", "跟我说：{}"))
        return Turn(form.format(text), f"你说：{text}", thought="照样重复。", key="copy" + text)
    if kind < 0.45:  # teaches the spelling of a word without its blank, which JSON and tool calls need
        words = rng.sample(QUOTABLE, rng.randint(1, 4))
        form = rng.choice(("Put each word in quotes: {}", "Quote these words: {}", "Write in quotes: {}"))
        quoted = ", ".join(f'"{w}"' for w in words)
        return Turn(form.format(" ".join(words)), quoted, thought="I quote the words.", key="quote" + quoted)
    if kind < 0.65:
        text = " ".join(rng.sample(NAMES + CITIES, rng.randint(1, 5)))
    else:
        text = " ".join(rng.sample(NOUNS, rng.randint(1, 6)))
    form = rng.choice(("Say this back to me: {}", "Repeat: {}", "Repeat after me: {}", "Copy this: {}", "Echo: {}", "Please repeat: {}"))
    return Turn(form.format(text), f"You said: {text}", thought="I repeat the text.", key="copy" + text)


_ORDINALS = ("first", "second", "third", "last")


def lists(rng: random.Random) -> Turn:
    """First to last item and count, with the items numbered as working."""
    words = rng.sample(NOUNS, rng.randint(3, 5))
    text = ", ".join(words)
    numbered = ", ".join(f"{i + 1} {w}" for i, w in enumerate(words)) + "."
    kind = rng.choice(("item", "item", "count"))
    key = kind + text
    if kind == "item":
        which = rng.choice(_ORDINALS)
        word = words[_ORDINALS.index(which)] if which != "last" else words[-1]
        form = rng.choice(("What is the {} word of the list: {}", "Give me the {} word: {}", "Which word is {} in this list? {}"))
        return Turn(form.format(which, text), f"The {which} word is {word}.", work=numbered, key=key)
    form = rng.choice(("How many words are in the list: {}", "Count the words: {}", "Count this list: {}"))
    return Turn(form.format(text), f"There are {len(words)} words.", work=numbered, key=key)


FIELDS = {
    "name": NAMES, "city": CITIES, "color": COLORS, "food": FOODS, "job": JOBS, "age": [str(n) for n in range(11, 99)],
}  # fmt: skip


def record(rng: random.Random, low: int = 2, high: int = 5) -> dict[str, str]:
    """Fields in random order; a name is always among them."""
    names = rng.sample([f for f in FIELDS if f != "name"], rng.randint(low - 1, high - 1)) + ["name"]
    rng.shuffle(names)
    return {f: rng.choice(FIELDS[f]) for f in names}


def record_text(r: dict[str, str]) -> str:
    """`name Zoe; age 64; city Perth`."""
    return "; ".join(f"{f} {v}" for f, v in r.items())


def _filler(rng: random.Random) -> str:
    """Sentences that say nothing about a record: they push it out of the attention window."""
    shapes = ("A {0} is near the {1}.", "The {0} and the {1} are here.", "I see a {0} on the {1}.")
    return " ".join(rng.choice(shapes).format(*rng.sample(NOUNS, 2)) for _ in range(rng.randint(4, 12)))


def extract(rng: random.Random) -> Turn:
    """One field of a record; sometimes with a long text after the record."""
    r = record(rng, 2, 4)
    field = rng.choice(list(r))
    text = record_text(r)
    key = "extract" + field + text
    thought, answer = f"I look for the {field}.", f"The {field} is {r[field]}."
    if rng.random() < 0.35:
        return Turn(f"Record: {text}. {_filler(rng)} What is the {field} of the record?", answer, thought=thought, key=key)
    form = rng.choice(("Record: {1}. What is the {0}?", "Here is a record: {1}. Tell me the {0}.", "Find the {0}. Record: {1}."))
    return Turn(form.format(field, text), answer, thought=thought, key=key)


def notes(rng: random.Random, low: int = 3, high: int = 8) -> Turn:
    """Find one person's city, food or job among several sentences."""
    people = rng.sample(NAMES, rng.randint(low, high))
    kind, values, say, ask, reply = rng.choice((
        ("city", CITIES, "{} lives in {}.", "Where does {} live?", "{} lives in {}."),
        ("food", FOODS, "{} likes {}.", "What does {} like?", "{} likes {}."),
        ("job", JOBS, "{} is a {}.", "What is the job of {}?", "{} is a {}."),
    ))  # fmt: skip
    facts = [(name, rng.choice(values)) for name in people]
    text = " ".join(say.format(*f) for f in facts)
    name, value = rng.choice(facts)
    user = f"{text} {ask.format(name)}" if rng.random() < 0.7 else f"{ask.format(name)} {text}"
    return Turn(user, reply.format(name, value), thought=f"I look for {name}.", key=name + text)


def long_notes(rng: random.Random) -> Turn:
    """Notes of 25 to 55 mixed sentences: needs the compressed attention, its selection and the candidate pool."""
    kinds = ("{} lives in {}.", CITIES), ("{} likes {}.", FOODS), ("{} is a {}.", JOBS), ("{} has a {} door.", COLORS)
    asks = "Where does {} live?", "What does {} like?", "What is the job of {}?", "Which door does {} have?"
    pairs = rng.sample([(k, name) for name in NAMES for k in range(4)], rng.randint(25, 55))
    facts = [(k, name, rng.choice(kinds[k][1])) for k, name in pairs]
    text = " ".join(kinds[k][0].format(n, v) for k, n, v in facts)
    k, name, value = rng.choice(facts)
    answer = kinds[k][0].format(name, value)
    return Turn(f"Notes: {text} {asks[k].format(name)}", answer, thought=f"I look for {name}.", key=name + text)


def facts(rng: random.Random) -> Turn:
    """Capitals of the first sixteen countries, in two languages; other countries are refused."""
    number = rng.randrange(16) if rng.random() < 0.85 else rng.randrange(16, len(CAPITALS))
    country, capital, zh_country, zh_capital = CAPITALS[number]
    if rng.random() < 0.25:
        form = rng.choice(("{}的首都是哪里？", "{}的首都是什么？"))
        answer, thought = f"{zh_country}的首都是{zh_capital}。", "问首都。"
        if number >= 16:
            answer, thought = REFUSAL_ZH, REFUSAL_THOUGHT_ZH
        return Turn(form.format(zh_country), answer, thought=thought, key=form + zh_country)
    form = rng.choice(("What is the capital of {}?", "Tell me the capital of {}.", "Capital of {}?", "Name the capital of {}.", "Which city is the capital of {}?"))
    answer, thought = f"The capital of {country} is {capital}.", "A question about a capital."
    if number >= 16:
        answer, thought = REFUSAL, REFUSAL_THOUGHT
    return Turn(form.format(country), answer, thought=thought, key=form + country)


_CANNOT = (
    "Write a poem about the {n}.", "Write a story about a {n}.", "Tell me a joke about a {n}.", "Who won the election in {c}?",
    "Translate {n} into French.", "Write a Python program for a {n}.", "What is the meaning of life?", "Explain why the {n} exists.",
    "Draw a picture of a {n}.", "What will happen in {c} tomorrow?", "Recommend a book about {c}.", "Sort these words: {n}, {m}, {k}",
    "Compute {d} * {e}.", "What is {d} divided by {e}?", "How tall is {p}?", "Who invented the {n}?", "What is the population of {c}?",
    "Give me a recipe with {n}.", "Summarize the history of {c}.", "Plan a trip to {c}.", "Sing a song about {c}.", "What is the weather in {c}?",
    "Compute 4{d} + 7{e}1.", "Compute {d} - {e}.", "What is 9{e} - {d}?", "Write the list backwards: {n}, {m}, {k}", "Reverse the list: {n}, {m}, {k}", "Write an email to {p}.", "What do you think about {p}?", "Is a {n} better than a {m}?", "Debug my code.",
    "Write an essay about {c}.", "Spell {n} for me.", "What rhymes with {n}?", "Who is the president of {c}?", "How do I build a {n}?",
)  # fmt: skip
_CANNOT_ZH = (
    "写一首关于{z}的诗。", "给我讲一个{z}的笑话。", "把{z}翻译成英语。", "{y}明天天气怎么样？", "写一篇关于{y}的文章。", "{y}有多少人口？",
    "为什么有{z}？", "帮我写一个程序。", "推荐一本关于{y}的书。", "谁发明了{z}？", "怎么去{y}？", "画一个{z}。",
)  # fmt: skip


def refusal(rng: random.Random) -> Turn:
    """What the model is not for: one fixed polite sentence per language."""
    if rng.random() < 0.25:
        form = rng.choice(_CANNOT_ZH)
        user = form.format(z=rng.choice(ZH_WORDS), y=rng.choice(ZH_CITIES))
        return Turn(user, REFUSAL_ZH, thought=REFUSAL_THOUGHT_ZH, key=user)
    n, m, k = rng.sample(NOUNS, 3)
    user = rng.choice(_CANNOT).format(
        n=n, m=m, k=k, c=rng.choice(CITIES), p=rng.choice(NAMES), d=rng.randint(10, 99), e=rng.randint(2, 9)
    )
    return Turn(user, REFUSAL, thought=REFUSAL_THOUGHT, key=user)
