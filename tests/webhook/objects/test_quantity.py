from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.objects.quantity import LONGEST_TEXT, ZERO, Format, Quantity, parse, read, read_amounts


@pytest.mark.parametrize(
    ("text", "nanos", "canonical"),
    [
        ("0", 0, "0"),
        ("1", 10**9, "1"),
        ("1E", 10**27, "1E"),
        ("1E3", 10**12, "1e3"),
        ("1e3", 10**12, "1e3"),
        ("0.1", 10**8, "100m"),
        ("100m", 10**8, "100m"),
        (".5", 5 * 10**8, "500m"),
        ("5.", 5 * 10**9, "5"),
        ("+1", 10**9, "1"),
        ("01", 10**9, "1"),
        ("-1.5", -15 * 10**8, "-1500m"),
        ("m", 0, "0"),
        ("1.1Gi", 1181116006400000000, "1181116006400m"),
        ("1.5Gi", 1610612736 * 10**9, "1536Mi"),
        ("1024Mi", 2**30 * 10**9, "1Gi"),
        ("1Gi", 2**30 * 10**9, "1Gi"),
        ("512Ki", 2**19 * 10**9, "512Ki"),
        ("0.5Ki", 512 * 10**9, "512"),
        ("0.5n", 1, "1n"),
        ("-0.5n", -1, "-1n"),
        ("0.1m", 10**5, "100u"),
        ("524288e3", 524288 * 10**12, "524288e3"),
        ("10E", 10**28, "10E"),
        ("2000E", 2 * 10**30, "2e21"),
        ("1e999", 10**1008, "1e999"),
        ("9Ei", (2**63 - 1) * 10**9, "9223372036854775807"),  # capped, as Go does
    ],
)
def test_a_text_means_an_exact_amount(text: str, nanos: int, canonical: str) -> None:
    amount = parse(text)

    assert (amount.nanos, str(amount), amount.text) == (nanos, canonical, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "1K",
        "1ki",
        "1_000",
        "１",
        "٣",
        "NaN",
        "inf",
        "1e",
        "1e+",
        "Ei",
        "e3x",
        "1.2.3",
        "0x10",
        "1,5",
        "1e3e3",
    ],
)
def test_what_is_no_quantity_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1K", "1k or 1Ki"),
        ("64mi", "64Mi"),
        ("1KI", "1Ki"),
        ("512MB", "512M or 512Mi"),
        ("1.5GiB", "1.5Gi"),
        ("2g", "2G or 2Gi"),
        ("1 Gi", "1Gi"),
        ("100kb", "100k or 100Ki"),
    ],
)
def test_a_mistaken_unit_is_told_with_the_right_one(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf'"{text}" is not a quantity: .*; did you mean {meant}\?$'):
        parse(text)


def test_a_refusal_shows_no_more_than_a_line_of_the_text() -> None:
    with pytest.raises(ValueError, match="at most 1024 characters") as caught:
        parse("9" * 100_000)

    assert len(str(caught.value)) < 200
    with pytest.raises(ValueError, match=r"\\x1b") as caught:
        parse("\x1b[31m" + "x" * 900)
    assert len(str(caught.value)) < 200


def test_amounts_order_by_size_whatever_their_unit() -> None:
    texts = ["-1", "0", "1n", "0.1m", "1u001"[:2], "100m", "1", "1k", "1Ki", "1.5Gi", "2G", "10E", "2000E", "1e999", "9" * 1024]

    amounts = [parse(text) for text in texts]

    assert sorted(amounts, key=lambda amount: amount.nanos) == sorted(amounts)
    assert parse("1Gi") == parse("1024Mi") == parse("1073741824")
    assert parse("2000E") > parse("10E") > parse("7Ei")
    assert hash(parse("1")) == hash(parse("1000m"))


@given(st.integers(-(10**40), 10**40), st.integers(-(10**40), 10**40), st.sampled_from(list(Format)))
def test_arithmetic_is_exact_and_what_it_writes_reads_back(left: int, right: int, written: Format) -> None:
    total = Quantity(left, written) + Quantity(right, written)

    assert total.nanos == left + right
    assert (total - Quantity(right)).nanos == left
    # What is written with a binary suffix is read back with Go's cap at the largest int64.
    if written is not Format.BINARY_SI or abs(total.units) < 2**63:
        assert parse(str(total)) == total


def test_a_sum_is_written_like_its_first_amount_that_is_not_zero() -> None:
    assert str(parse("1Gi") + parse("1G")) == "2073741824"
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert str(parse("1Gi") + parse("1Gi")) == "2Gi"
    assert str(parse("1e3") + parse("1k")) == "2e3"
    assert (parse("500m") + parse("1")).text == "1500m"


def test_whole_units_and_thousandths_are_rounded_up() -> None:
    assert (parse("1.1").units, parse("100u").millis, parse("-1.5").units, parse("1Gi").millis) == (2, 1, -1, 2**30 * 1000)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (0, "0"),
        (1.5, "1500m"),
        (1e3, "1k"),
        (1e21, "1e21"),
        (0.1, "100m"),
        (None, "0"),
        (" 64Mi ", "64Mi"),
        (2**70, "1180591620717411303424"),
    ],
)
def test_numbers_and_null_are_quantities_in_json(value: object, text: str) -> None:
    assert str(read(value)) == text


@pytest.mark.parametrize("value", [True, [], {}, float("nan"), float("inf")])
def test_other_json_is_none(value: object) -> None:
    with pytest.raises(ValueError, match="quantity"):
        read(value)


def test_a_number_of_any_length_is_taken_or_refused_at_once() -> None:
    assert read(10**1000) == parse("1e1000")
    with pytest.raises(ValueError, match="at most 1024 characters"):
        read(10**1100)
    with pytest.raises(ValueError, match="at most 1024 characters"):
        read(10**5000)


def test_absent_and_null_amounts_are_none_and_a_wrong_one_is_named() -> None:
    assert read_amounts(None, "spec.hard") == {}
    assert read_amounts({"cpu": None}, "spec.hard") == {"cpu": ZERO}
    with pytest.raises(ValueError, match=r'spec\.hard\.cpu: "1K" is not a quantity'):
        read_amounts({"cpu": "1K"}, "spec.hard")
    with pytest.raises(ValueError, match=r"spec\.hard\[nvidia\.com/gpu\]: expected a quantity"):
        read_amounts({"nvidia.com/gpu": []}, "spec.hard")
    with pytest.raises(ValueError, match=r"spec\.hard: expected an object, found a list"):
        read_amounts([], "spec.hard")


# -- bounded work --------------------------------------------------------------------------------------------------

DIGITS = ("0", "9", "1", "10", "0.", "1.", ".", "1000000000000000000001")
EXPONENTS = (
    "e9999999", "e-9999999", "e999999999", "e-999999999", "e2147483647", "e-2147483648", "E6024865272343", "E-6024865272343",
    "e9223372036854775807", "e-9223372036854775808", "e2038", "e2039", "e2047", "e-2048", "e1000", "e-1000", "Ei", "n",
)  # fmt: skip
HOSTILE = [
    *("".join(parts) for parts in itertools.product(("", "-"), DIGITS, EXPONENTS)),
    *(digit * count + suffix for digit in "019" for count in (1000, 1024, 10_000) for suffix in ("", "Ei", "n", "e999")),
    *("0." + digit * 1000 + suffix for digit in "019" for suffix in ("", "Ei", "n", "e-999", "e999", "E6024865272343")),
    "1" + "e" * 1000, "1e" + "0" * 1000 + "3", "1e" + "9" * 1000, "+" * 1000, "." * 1000, "K" * 10_000, "\U0001f600" * 1000,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text[:24]}({len(text)})")
def test_no_text_takes_a_millisecond(text: str) -> None:
    # Zeros in front make it another text, so that none comes from the cache.
    sign = "-" if text.startswith("-") else ""
    variants = [f"{sign}{'0' * zeros}{text.removeprefix(sign)}" for zeros in range(5)]

    assert min(map(taken_s, variants)) < 0.001


def test_a_text_of_megabytes_takes_less_than_a_millisecond() -> None:
    assert min(taken_s("9" * (3_000_000 + count)) for count in range(5)) < 0.001


def taken_s(text: str) -> float:
    begun_s = time.thread_time()
    try:
        amount = parse(text)
    except ValueError as error:
        str(error)
    else:
        assert str(amount) and amount + amount is not None and (amount < ZERO) is not None
    return time.thread_time() - begun_s


def test_what_is_beyond_any_exponent_is_the_least_or_the_most() -> None:
    assert parse("1e-999999999") == parse("1n")
    assert parse("-1e-999999999") == parse("-1n")
    assert parse("0e999999999") == ZERO
    assert parse("1e9999999") == parse("1e999999999") > parse("1e2000") > parse("9" * LONGEST_TEXT)
    assert parse("1e9999999") + parse("1e9999999") == parse("1e9999999")


def test_an_exponent_is_cut_to_32_bits_as_go_does() -> None:
    assert parse("1e4294967296") == parse("1")
    assert parse("2E6024865272343") == parse("1n")
