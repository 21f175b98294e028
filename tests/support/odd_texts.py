"""What a file can hold that no program expects, by what is odd about it."""

from __future__ import annotations

ODD_YAML = {
    "deep": "a: " + "[" * 5000,
    "deep and closed": "a: " + "[" * 5000 + "]" * 5000,
    "quite deep": "a: " + "[" * 150 + "]" * 150,
    "deep blocks": "".join(f"{' ' * depth}a:\n" for depth in range(1200)),
    "impossible date": "a: 2001-99-99",
    "impossible offset": "a: 2001-01-01 00:00:00+99:99",
    "huge number": "a: " + "9" * 5000,
    "not a number": "a: !!int x",
    "empty number": 'a: !!int ""',
    "not a date": "a: !!timestamp x",
    "not a truth value": "a: !!bool x",
    "half a character": 'a: "\\ud800"',
    "half a name": '"\\ud800": a',
    "control character": "a: \x00",
    "endless": "a: &a [*a]",
    "endless mapping": "a: &a {b: *a}",
    "bomb": "a0: &a0 [x]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)),
    "merged bomb": "a0: &a0 {x: 1}\n"
    + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 12)),
    "unhashable": "? [a]\n: b",
    "program": "a: !!python/object/apply:os.system [true]",
    "unclosed": "a: [",
}
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32")
