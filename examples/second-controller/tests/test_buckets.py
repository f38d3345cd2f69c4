"""Run by pytest, against a scripted API server: no cluster, no threads, no waiting."""

from typing import Any

from buckets import FINALIZER, plugin

from controllers.testing import FakeApi, Rehearsal

Json = dict[str, Any]


def server() -> FakeApi:
    api = FakeApi()
    api.objects.register("/apis/example.com/v1", "buckets", "example.com/v1", "Bucket")
    return api


def bucket(**metadata: Any) -> Json:
    meta = {"name": "b", "namespace": "shop", "uid": "uid-b", **metadata}
    return {"apiVersion": "example.com/v1", "kind": "Bucket", "metadata": meta, "spec": {}}


def part(name: str, uid: str = "uid-b") -> Json:
    meta = {"name": name, "namespace": "shop", "labels": {"bucket-uid": uid}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def held_by(api: FakeApi) -> list[str]:
    found: list[str] = api.objects.all("Bucket")["shop/b"]["metadata"]["finalizers"]
    return found


def test_a_bucket_goes_after_its_parts_and_takes_no_others() -> None:
    with server() as api, Rehearsal(plugin, api) as rehearsal:
        api.objects.put(bucket(finalizers=["example.com/theirs"]))
        api.objects.put(part("one"))
        api.objects.put(part("other", "uid-former"))
        rehearsal.run()
        protected = held_by(api)

        api.objects.put(bucket(finalizers=protected, deletionTimestamp="2026-01-01T00:00:00Z"))
        rehearsal.run()
        rehearsal.run()

        assert protected == ["example.com/theirs", FINALIZER]
        assert list(api.objects.all("ConfigMap")) == ["shop/other"]
        assert held_by(api) == ["example.com/theirs"]
        assert rehearsal.errors == []


def test_it_writes_nothing_without_the_lease() -> None:
    with server() as api, Rehearsal(plugin, api) as rehearsal:
        rehearsal.lose_lease()
        api.objects.put(bucket())

        rehearsal.run()

        assert api.requests == []
