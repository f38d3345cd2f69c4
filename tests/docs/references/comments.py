"""What the sources say of their names: the comment behind an assignment, or the lines that begin with "#:" right above it.

So says Sphinx's autodoc, too. Other comments above an assignment say why, to who works on the code, and are not read.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from functools import cache
from pathlib import Path
from types import ModuleType

_MARK = "#:"


@cache
def _comments(file: Path) -> dict[int, tuple[str, bool]]:
    """Line -> comment, and whether it has the line for itself."""
    source = file.read_text()
    lines = source.splitlines()
    found = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            number, column = token.start
            found[number] = (token.string, not lines[number - 1][:column].strip())
    return found


def _of(node: ast.stmt, file: Path) -> str:
    comments = _comments(file)
    last = node.end_lineno or node.lineno
    text, alone = comments.get(last, ("", True))
    if text and not alone:
        return text.lstrip("#: ")
    above: list[str] = []
    number = node.lineno - 1
    while comments.get(number, ("", False))[1] and comments[number][0].startswith(_MARK):
        above.insert(0, comments[number][0].removeprefix(_MARK).strip())
        number -= 1
    return " ".join(above)


def _assigned(body: list[ast.stmt], file: Path) -> dict[str, str]:
    found = {}
    for node in body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        found.update({name.id: _of(node, file) for name in names if isinstance(name, ast.Name)})
    return found


@cache
def of_class(kind: type) -> dict[str, str]:
    """Attribute -> what is said of it in *kind* or in what it inherits from."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        try:
            file = Path(inspect.getfile(one))
        except (TypeError, OSError):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef) and node.name == one.__name__:
                said = _assigned(node.body, file)
                found |= {name: text for name, text in said.items() if text or name not in found}
    return found


def of_module(module: ModuleType) -> dict[str, str]:
    """Constant -> what is said of it in *module*."""
    file = Path(inspect.getfile(module))
    return _assigned(ast.parse(file.read_text()).body, file)


def order_in(kind: type) -> list[tuple[str, list[str]]]:
    """The members of the enumeration *kind* in groups: each plain comment that has a line for itself is a heading."""
    file = Path(inspect.getfile(kind))
    (body,) = [
        node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    headings = {
        number: text.lstrip("# ")
        for number, (text, alone) in _comments(file).items()
        if alone and not text.startswith(_MARK) and body.lineno < number <= (body.end_lineno or 0)
    }
    groups: list[tuple[str, list[str]]] = []
    for node in body.body:
        if not (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)):
            continue
        heading = [text for number, text in headings.items() if number < node.lineno][-1]
        if not groups or groups[-1][0] != heading:
            groups.append((heading, []))
        groups[-1][1].append(node.targets[0].id)
    return groups
