"""docs/reference/labels-and-annotations.md: every name that is read or written on objects, from webhook/names.py."""

from __future__ import annotations

from controllers.database_instance import values
from tests.docs.references import comments
from tests.docs.references.tables import code, page, table
from webhook import names
from webhook.objects import databases

INTRODUCTION = """
Every label, annotation, taint and gate that Gatehouse reads or writes, and on what. Those that do not begin with
`gatehouse.dev` come from Kubernetes or from published injectors, so that what is there goes on working.
"""
# Names of objects, groups and values, which nobody writes on an object.
NO_MARKS = frozenset(
    {
        "PROJECT",
        "DOMAIN",
        "API_VERSION",
        "CONFIG_KIND",
        "CONFIG_MAP",
        "CONFIG_MAP_KEY",
        "ARTICLE_CONFIG_MAP",
        "ARTICLE_KEY",
        "ENABLED",
        "DISABLED",
        "NODES_GROUP",
        "READY",
        "CONTAINERS_READY",
        "NO_EXECUTE",
    }
)


# Marks that stand where they are used.
ELSEWHERE = ((databases, "UID_LABEL"), (values, "USED_SINCE"))


def markdown() -> str:
    """The whole page."""
    rows = [(code(getattr(module, name)), comments.of_module(module)[name]) for module, name in ELSEWHERE]
    for name, text in comments.of_module(names).items():
        if name in NO_MARKS:
            continue
        if not text:
            raise ValueError(f"webhook.names.{name}: say what bears it and what it means, in a comment behind it")
        value = getattr(names, name)
        rows.append((code(f"<container>{value}<field>" if value.startswith(".") else value), text))
    listed = table(("key", "what bears it, and what it means"), sorted(rows))
    return page("Labels and annotations", "webhook/names.py", INTRODUCTION, [listed])
