"""A place inside a text is found in the file that holds the text, of whatever style it is."""

from __future__ import annotations

import re

import pytest

from controllers.checking.remarks import place
from webhook.objects.documents import read_documents


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("data:\n  a: |\n    one\n      two\n", (4, 7)),
        ("data:\n  a: |-\n    one\n      two", (4, 7)),
        ("data:\n  a: |+\n    one\n      two\n\n\n", (4, 7)),
        ("data:\n  a: |2\n    one\n      two\n", (4, 7)),
        ("data:\n  a:   # why\n    |\n    one\n      two\n", (5, 7)),
        ("data:\n  a: |  # why\n\n    one\n      two\n", (5, 7)),
        ("data:\r\n  a: |\r\n    one\r\n      two\r\n", (4, 7)),
        ('data:\n  a: "one\\n  two"\n', (2, 3)),
        ("data:\n  a: >\n    one\n    two\n", (2, 3)),
        ("data: {a: one}\n", (1, 8)),
        ('{"data": {"a": "one\\n  two"}}', (1, 11)),
    ],
)
def test_a_place_in_a_text_is_found_in_the_file_that_holds_it(file: str, expected: tuple[int, int]) -> None:
    (document,) = read_documents(file, "f", positions=True)
    text = document.value["data"]["a"]
    broken = "  two" if "  two" in text else text

    row = text.split("\n").index(broken) + 1 if broken in text.split("\n") else 1
    column = 3 if broken == "  two" else 1

    assert place(re.split(r"\r\n|\n", file), document.position(("data", "a")), text, row, column) == expected


def test_a_fault_behind_the_end_of_a_text_stands_at_its_last_line() -> None:
    assert place(["a: |", "  x: [", ""], (1, 1), "x: [\n", 7, 1) == (2, 3)
