"""What lint says of an entry once its placeholders are filled in: `ports[0].containerPort: 99999` is known only then.

To be asked after `placeholders.substitute`, of what it made; anything said means that the entry must not be injected into this
pod. Paths are those of the entry's text. Pure.
What a pod says is text, also where it looks like a placeholder: nothing here is "not known yet".
"""

from __future__ import annotations

from webhook.objects.faults import Found, quoted
from webhook.objects.meta import Json
from webhook.objects.selectors import value_fault
from webhook.sidecars.entries import env_lint, lint, volume_lint
from webhook.sidecars.entries.entry import AppWiring, Entry
from webhook.sidecars.entries.metadata_lint import annotation_fault
from webhook.sidecars.entries.placeholders import as_literal


def entry_faults(made: Entry, before: Entry) -> Found:
    """What is wrong with the parts of *made*, but `app`, that differ from *before*: the same entry as it was read."""
    for key, new, old, faults in (
        ("containers", made.containers, before.containers, lint.container_faults),
        ("initContainers", made.init_containers, before.init_containers, lint.container_faults),
        ("volumes", made.volumes, before.volumes, volume_lint.volume_faults),
        ("imagePullSecrets", made.image_pull_secrets, before.image_pull_secrets, volume_lint.secret_faults),
        ("hostAliases", made.host_aliases, before.host_aliases, volume_lint.host_alias_faults),
    ):
        for index, (value, known) in enumerate(zip(new, old, strict=True)):
            if value != known:
                yield from faults(as_literal(value), (key, index))
    for label, text in made.labels.items():
        if text != before.labels[label] and (fault := value_fault(text)):
            yield ("labels", label), f"{quoted(before.labels[label])}: {fault}"
    own = [container["name"] for container in (*made.containers, *made.init_containers)]
    for name, text in made.annotations.items():
        if text != before.annotations[name] and (fault := annotation_fault(name, text, own)):
            yield ("annotations", name), fault
    if made.log_collector is not None and made.log_collector != before.log_collector:
        yield from lint.container_faults(as_literal(made.log_collector.container), ("logCollector",))


def app_faults(made: AppWiring) -> Found:
    """What is wrong with *made*, which is to go into a container of the pod."""
    parent: Json = as_literal({"env": list(made.env), "envFrom": list(made.env_from), "volumeMounts": list(made.volume_mounts)})
    yield from env_lint.env_faults(parent, ("app",))
    yield from lint.mount_faults(parent, ("app",))
