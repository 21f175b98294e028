"""Which texts fit a question, by their words alone."""

from __future__ import annotations

from harness.memory.relevance import likeness, scores, terms


def best(question: str, *texts: str) -> str:
    rated = scores(question, texts)
    return texts[rated.index(max(rated))]


def test_words_that_few_texts_have_decide() -> None:
    texts = ("the tests of the parser are slow", "the tests need postgres", "the tests run with uv")
    assert best("Why do the tests of postgres fail?", *texts) == texts[1]


def test_a_text_that_shares_no_word_has_no_score() -> None:
    assert scores("deploy it", ["the parser is slow", "deploys go through staging"])[0] == 0
    assert scores("make this work for them", ["this will work for you"]) == [0]
    assert scores("anything", []) == []


def test_length_alone_does_not_help() -> None:
    short, long = "postgres port", "postgres port " + "and many more words beside " * 50
    assert best("postgres port", short, long) == short


def test_names_are_found_by_their_parts_and_in_any_number() -> None:
    assert "invoice" in terms("InvoiceParser")
    assert "parser" in terms("invoice_parsers")
    assert "invoiceparser" in terms("InvoiceParser")
    assert (
        best("fix the invoice", "InvoiceParser reads files", "BasketPrinter") == "InvoiceParser reads files"
    )


def test_scripts_without_blanks_are_compared_too() -> None:
    texts = ("数据库端口是五四三三", "请用中文回答")
    assert best("测试需要哪个端口", *texts) == texts[0]


def test_texts_with_the_same_words_are_alike() -> None:
    assert likeness("The tests need a port", "a port, the test needs") > 0.4
    assert likeness("same words here", "same words here") == 1
    assert likeness("apples", "pears") == 0
