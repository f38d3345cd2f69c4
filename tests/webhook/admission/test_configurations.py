"""Webhook configurations, as they are printed."""

from __future__ import annotations

import base64

import attrs

from webhook.admission.configurations import ClientConfig, configurations
from webhook.admission.registry import SERVICES, by_name, path_for


def test_registrations_reach_a_service_or_a_url() -> None:
    ca = b"-----BEGIN CERTIFICATE-----\n"

    service = ClientConfig.service("kube-system", "gatehouse", 443, ca).at("/endpoint")
    url = ClientConfig.url("https://10.0.0.1:9443/", ca).at("/endpoint")

    assert service["service"] == {"namespace": "kube-system", "name": "gatehouse", "port": 443, "path": "/endpoint"}
    assert url["url"] == "https://10.0.0.1:9443/endpoint"
    assert base64.b64decode(url["caBundle"]) == base64.b64decode(service["caBundle"]) == ca


def test_without_a_ca_none_is_written_so_that_whoever_owns_it_can_fill_it_in() -> None:
    assert "caBundle" not in ClientConfig.service("kube-system", "gatehouse", 443).at("/endpoint")


def test_an_empty_configuration_is_printed_so_that_old_registrations_go() -> None:
    found = configurations([], ClientConfig.url("https://h"))

    assert [(configuration["kind"], configuration["webhooks"]) for configuration in found] == [
        ("MutatingWebhookConfiguration", []),
        ("ValidatingWebhookConfiguration", []),
    ]


def test_validating_registrations_have_no_reinvocation_policy() -> None:
    service = attrs.evolve(by_name("endpoint"), mutating=False)

    _, configuration = configurations([service], ClientConfig.url("https://h"))

    assert configuration["kind"] == "ValidatingWebhookConfiguration"
    assert all("reinvocationPolicy" not in webhook for webhook in configuration["webhooks"])


def test_only_create_and_update_are_ever_intercepted_for_edge_health() -> None:
    guards = [service for service in SERVICES if service.guards_availability]
    configuration, _ = configurations(guards, ClientConfig.url("https://h"))

    operations = {
        operation for webhook in configuration["webhooks"] for rule in webhook["rules"] for operation in rule["operations"]
    }
    assert operations == {"CREATE", "UPDATE"}
    assert {webhook["failurePolicy"] for webhook in configuration["webhooks"]} == {"Ignore"}


def test_a_path_is_found_by_its_resource() -> None:
    assert path_for("", "pods", "status") == "/pod-status"
    assert path_for("discovery.k8s.io", "endpointslices") == "/endpoint"
    assert path_for("", "secrets") is None
