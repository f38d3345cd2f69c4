#!/bin/sh
# Installs Gatehouse with kubectl and takes it away again, in the order in which no create is refused meanwhile.
#
#   manifests/install.sh deploy|undeploy [FOLDER]      FOLDER: a kustomization, by default manifests/base
#
# Environment: KUBECTL (kubectl), IMAGE (gatehouse:dev), TIMEOUT (120s, of the rollout), SECRET (gatehouse-tls, where the CA is),
# PURGE=1 (undeploy also deletes kinds that still have objects).
set -eu
kubectl=${KUBECTL:-kubectl} image=${IMAGE:-gatehouse:dev} timeout=${TIMEOUT:-120s} secret=${SECRET-gatehouse-tls}
namespace=kube-system folder=${2:-$(dirname "$0")/base}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf 'gatehouse: %s\n' "$*" >&2; }
# Server-side: the fields that others write, such as a caBundle that is rotated, stay theirs when they are not in the files.
apply() { $kubectl apply --server-side --force-conflicts --field-manager=gatehouse-deploy -f "$1"; }

# documents FILE KINDS in|out [back]: the documents of FILE whose kind is (not) one of KINDS; with `back` the last one first.
documents() {
  awk -v kinds=" $2 " -v wanted="$3" -v order="${4:-}" '
    function keep() { if (kind != "" && (index(kinds, " " kind " ") > 0) == (wanted == "in")) found[++count] = text; text = kind = "" }
    /^---$/ { keep(); next }
    /^kind: / { kind = $2 }
    { text = text $0 "\n" }
    END { keep(); for (i = 1; i <= count; i++) printf "%s---\n", found[order == "back" ? count + 1 - i : i] }' "$1"
}

# What is no longer registered goes first: a replica that does not serve it any more would fail its calls.
unregister() {
  for kind in mutatingwebhookconfiguration validatingwebhookconfiguration; do
    gone=
    for name in $($kubectl get "$kind" gatehouse --ignore-not-found -o 'jsonpath={.webhooks[*].name}'); do
      grep -qE "name: $name\$" "$work/webhooks.yaml" && continue
      say "$name is not registered any more"
      gone="$gone${gone:+,}{\"\$patch\":\"delete\",\"name\":\"$name\"}"
    done
    [ -z "$gone" ] || $kubectl patch "$kind" gatehouse --type=strategic -p "{\"webhooks\":[$gone]}"
  done
}

# With the CA in it from the first moment: a webhook that nobody trusts refuses whatever it is asked.
fill_in_ca() {
  bundle=
  [ -z "$secret" ] || bundle=$($kubectl -n $namespace get secret "$secret" --ignore-not-found -o 'jsonpath={.data.ca\.crt}')
  if [ -z "$bundle" ]; then
    say "no CA in a Secret: the caBundle is left to whoever fills it in"
  else
    awk -v bundle="$bundle" '
      { print }
      /^[ -]*clientConfig:$/ { match($0, /clientConfig/); print substr("                ", 1, RSTART + 1) "caBundle: " bundle }' \
      "$work/webhooks.yaml" > "$work/filled.yaml"
    mv "$work/filled.yaml" "$work/webhooks.yaml"
  fi
}

version_of_configuration() {
  $kubectl -n $namespace get configmap gatehouse --ignore-not-found -o 'jsonpath={.metadata.resourceVersion}'
}

deploy() {
  before=$(version_of_configuration)
  unregister
  apply "$work/rest.yaml"
  if [ -n "$before" ] && [ "$before" != "$(version_of_configuration)" ]; then
    $kubectl -n $namespace rollout restart deployment gatehouse   # it is read at start
  fi
  $kubectl -n $namespace rollout status deployment gatehouse --timeout="$timeout"
  fill_in_ca
  apply "$work/webhooks.yaml"
}

undeploy() {
  delete="$kubectl delete --ignore-not-found"
  $delete -f "$work/webhooks.yaml"
  # The replicas keep their rights to the end: the leader gives its lease back.
  $delete -n $namespace deployment gatehouse
  $kubectl -n $namespace wait --for=delete pod -l app.kubernetes.io/name=gatehouse --timeout="$timeout"
  documents "$work/rest.yaml" CustomResourceDefinition out back > "$work/reversed.yaml"
  $delete -f "$work/reversed.yaml"
  $delete -n $namespace lease/gatehouse ${secret:+"secret/$secret"}   # which the replicas made
  documents "$work/rest.yaml" CustomResourceDefinition in > "$work/kinds.yaml"
  [ -s "$work/kinds.yaml" ] || return 0
  unused=
  for kind in $($kubectl get -f "$work/kinds.yaml" --ignore-not-found -o name); do
    count=$($kubectl get "${kind#*/}" -A -o name | wc -l)
    if [ "$count" -gt 0 ] && [ "${PURGE:-}" != 1 ]; then
      say "${kind#*/} stays: $count of them are there, which would be deleted with it (PURGE=1 does that)"
    else
      unused="$unused $kind"
    fi
  done
  # shellcheck disable=SC2086  # names of kinds have no spaces
  [ -z "$unused" ] || $delete $unused
}

case ${1:-} in
  deploy | undeploy) ;;
  *) say "usage: $0 deploy|undeploy [FOLDER]"; exit 2 ;;
esac
$kubectl kustomize "$folder" > "$work/rendered.yaml"
sed "s|image: gatehouse:dev\$|image: $image|" "$work/rendered.yaml" > "$work/all.yaml"
webhooks="MutatingWebhookConfiguration ValidatingWebhookConfiguration"
documents "$work/all.yaml" "$webhooks" in > "$work/webhooks.yaml"
documents "$work/all.yaml" "$webhooks" out > "$work/rest.yaml"
"$1"
