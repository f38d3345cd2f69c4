"""Texts that look like quantities, some of them wrong, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

_ODD = """
    0 00 -0 +0 0. .0 . - + -. +. .. 0.0 -0.0 00.00 01 +1 -1 5. .5 -.5 +.5 0.1 1.5 -1.5 1.10 000.100 -000001
    n u m k M G T P E Ki Mi Gi Ti Pi Ei -m +Ki .m .Ki .Ei -.Ei +Ei e E e0 e1 e9 e-9 e-10 E0 E-10 .e5 -e5 +e+5 m5 Ki5
    1n 1u 1m 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei 1K 1ki 1mi 1MI 1g 1t 1p 1i 1nn 1mm 1ni 1ui 1mi 1Kii 1iK 1KM 1kMG
    1e 1E 1e3 1E3 1e+3 1e-3 1e+ 1e- 1e++3 1e03 1e-03 1e0000000000000000000000003 1ee3 1eE3 1e3e3 1e3.0 1e3Ki 1Ki3 1Ei3 1e3m
    1+3 1-3 1+ 1- 1m3 1m+3 1.2.3 1..2 1,5 1_000 0x10 1e3_0 NaN nan inf Infinity -inf true null ٣ １ 1️ é 1é é1 1µ 1Мi
    0.5n 0.1n 0.9n 1.1n 1.000000001 1.0000000001 0.0000000001 -0.0000000001 0.000000001 1.9999999999n 0.1u 1.0001u 1e-9 1e-10
    1.1Gi 1.5Gi 1.5Ki 0.5Ki 0.001Ki 0.0000001Ki 1.25Mi 0.1Mi 1.3Ei 0.1Ei 7Ei 7.9999Ei 8Ei 9Ei 100Ei 8191Pi 8192Pi 8193Pi
    9223372036854775807 9223372036854775808 9223372036854775807m 9223372036854775808k 18446744073709551616 -9223372036854775808
    9223372036854775807Ki 9007199254740993Ki 999999999999999999 1000000000000000000 999999999999999999.999999999
    123456789012345678 1234567890123456789 12345678901234567.8 0.123456789012345678 000000000000000000001 0.000000000000000001
    10E 2000E 1000E 9E 10E3 1e18 1e19 1e20 1e21 1e22 1e23 12e24 1000e3 1024 1023Ki 1024Ki 1000k 1000m 1010 1100 1001 100e1 10e2
    128974848 129e6 129M 123Mi 1288490188800m 524288e3 1024Mi 1Gi 1536Mi 1181116006400m 400m 100u 100n 10n 1048576 1048577
    1047Ki
    1e9223372036854775807 1e9223372036854775808 1e-9223372036854775808 1e-9223372036854775809 1e4294967296 1e4294967299
    1e-4294967296 1e-4294967299 1e18446744073709551616 3e4294967290 0e-5 0e30 0.0e-30
"""
ODD = _ODD.split()
STRANGE = [
    "",
    " ",
    " 1",
    "1 ",
    "\t1",
    "1\n",
    "1\0",
    "1 Ki",
    "1\u00a0",
    "\ufeff1",
    "1\u200b",
    "+ 1",
    "- 1",
    "1e 3",
    "'1'",
    '"1"',
]

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
ALPHABET = "0123456789" * 2 + ".+-eEinumkKMGTP_ xX,"


def quantity_texts(count: int, seed: int) -> Iterator[str]:
    """*count* texts. Exponents stay small, but for those that Go cuts to a small one: it would take hours for a large one."""
    yield from ODD
    yield from STRANGE
    chance = random.Random(seed)
    for _ in range(count - len(ODD) - len(STRANGE)):
        text = _by_grammar(chance)
        if chance.random() < 0.35:
            text = _mutated(text, chance)
        yield text


def _by_grammar(chance: random.Random) -> str:
    sign = chance.choice(["", "", "", "", "-", "+"])
    number = _digits(chance, chance.choice([1, 1, 1, 2, 3, 4, 5, 8, 15, 18, 19, 20, 30]))
    shape = chance.random()
    if shape < 0.35:
        number += "." + _digits(chance, chance.choice([0, 1, 1, 2, 3, 6, 9, 10, 17, 20]))
    elif shape < 0.4:
        number = "." + number
    if chance.random() < 0.75:
        return sign + number + chance.choice(SUFFIXES)
    exponent = chance.choice([0, 1, 2, 3, 5, 6, 9, 10, 12, 15, 18, 20, 25, 30])
    if chance.random() < 0.1:
        return f"{sign}{number}{chance.choice('eE')}{chance.choice([-1, 1]) * 2**32 + chance.choice([-1, 1]) * exponent}"
    return sign + number + chance.choice("eE") + chance.choice(["", "+", "-"]) + chance.choice(["", "", "0"]) + str(exponent)


def _digits(chance: random.Random, count: int) -> str:
    kind = chance.random()
    if kind < 0.15:
        return "0" * count
    if kind < 0.3:
        return (chance.choice("1248") + "0" * count)[:count]
    if kind < 0.4:
        return "9" * count
    return "".join(chance.choices("0123456789", k=count))


def _mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.choice([1, 1, 2])):
        place = chance.randrange(len(text) + 1)
        kind = chance.random()
        if kind < 0.4:
            text = text[:place] + chance.choice(ALPHABET) + text[place:]
        elif kind < 0.7:
            text = text[:place] + text[place + 1 :]
        elif kind < 0.9:
            text = text[:place] + chance.choice(ALPHABET) + text[place + 1 :]
        else:
            text = text[:place] + chance.choice(SUFFIXES) + text[place:]
    # Mutation must not make an exponent that Go works off digit by digit.
    mantissa, e, exponent = text.replace("E", "e").partition("e")
    return text if not e or len(exponent) <= 3 else f"{mantissa}e{exponent[:2]}"
