"""Certificates, tokens and kubeconfigs of one cluster. Everything is made anew for each cluster and deleted with it.

Source: kubernetes.io/docs: Authenticating (static token file), PKI certificates and requirements.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import attrs
import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

# User name and groups of each holder of a static token.
USERS = {
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    "kubelet": ("system:node:node-1", "system:nodes"),
    "kubelet-2": ("system:node:node-2", "system:nodes"),
}


@attrs.frozen
class Credentials:
    """The files under *folder*."""

    folder: Path

    @property
    def ca_file(self) -> Path:
        """Who signed the API server's certificate."""
        return self.folder / "ca.crt"

    @property
    def token_file(self) -> Path:
        """The static tokens, for `--token-auth-file`."""
        return self.folder / "tokens.csv"

    def make(self, *names: str) -> None:
        """Write all of it. *names*: addresses and host names of the API server."""
        self.folder.mkdir(parents=True)
        authority = trustme.CA(organization_name="gatehouse-tests")
        authority.cert_pem.write_to_path(self.ca_file)
        authority.private_key_pem.write_to_path(self.folder / "ca.key")
        serving = authority.issue_cert(*names)
        serving.private_key_and_cert_chain_pem.write_to_path(self.folder / "apiserver.pem")
        self._make_service_account_key()
        lines = [f'{secrets.token_hex(16)},{user},{name},"{groups}"' for name, (user, groups) in USERS.items()]
        self.token_file.write_text("\n".join(lines) + "\n")

    def token(self, name: str) -> str:
        """The token of a key of USERS."""
        rows = (line.split(",") for line in self.token_file.read_text().splitlines())
        return next(token for token, _, holder, *_ in rows if holder == name)

    def write_kubeconfig(self, path: Path, server: str, token: str) -> None:
        """A kubeconfig for the holder of *token*."""
        user: dict[str, object] = {"name": "user", "user": {"token": token}}
        cluster = {"name": "local", "cluster": {"server": server, "certificate-authority": str(self.ca_file)}}
        context = {"name": "local", "context": {"cluster": "local", "user": "user"}}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "local"}
        config |= {"clusters": [cluster], "users": [user], "contexts": [context]}  # type: ignore[dict-item]
        path.write_text(yaml.safe_dump(config))

    def _make_service_account_key(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        (self.folder / "service-accounts.key").write_bytes(private)
        (self.folder / "service-accounts.pub").write_bytes(public)
