"""Pure: how well texts fit a question, by the words they share (Okapi BM25; no model, no vectors)."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The usual constants of BM25: how soon repeating a word stops to count, and how much length does.
SATURATION, LENGTH_WEIGHT = 1.2, 0.75
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])|\d+")  # of a name written inOneWord
_NO_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")  # scripts without blanks between words
_EMPTY = frozenset(
    """
    a all an and any are as at be but by can do does for from has have how i if in into is it its make me
    my no not of on or our please should so some that the their them then there these they this to use
    want was we what when where which who will with work would you your
    """.split()  # noqa: SIM905 - a list of ninety lines would be no clearer
)


def terms(text: str) -> list[str]:
    """The words of a text that say something, alike in case and number; names also by their parts."""
    words = (word for word in _WORD.findall(text) if word.casefold() not in _EMPTY)
    return [term for word in words for term in _terms_of(word)]


def scores(question: str, texts: Sequence[str]) -> list[float]:
    """One for each text, 0 where no word is shared; a word that few texts have counts for more."""
    bags = [Counter(terms(text)) for text in texts]
    wanted = set(terms(question))
    having = Counter(term for bag in bags for term in bag)
    mean = sum(bag.total() for bag in bags) / len(bags) if bags else 0.0
    weight = {
        term: math.log(1 + (len(bags) - having[term] + 0.5) / (having[term] + 0.5))
        for term in wanted & having.keys()
    }
    return [sum(weight[term] * _saturated(bag, term, mean) for term in weight) for bag in bags]


def likeness(one: str, other: str) -> float:
    """From 0 to 1: how much of their words two texts share."""
    mine, others = set(terms(one)), set(terms(other))
    return len(mine & others) / len(mine | others) if mine | others else 1.0


def _saturated(bag: Counter[str], term: str, mean: float) -> float:
    count = bag[term]
    length = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * bag.total() / mean
    return count * (SATURATION + 1) / (count + SATURATION * length)


def _terms_of(word: str) -> Iterator[str]:
    if _NO_SPACES.search(word):
        for run in _NO_SPACES.findall(word):
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        return
    yield _singular(word.casefold())
    parts = _PART.findall(word)
    if len(parts) > 1:
        yield from (_singular(part.casefold()) for part in parts)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
