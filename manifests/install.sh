#!/bin/sh
# Installs Gatehouse with kubectl and takes it away again, in the order in which no create is refused meanwhile.
#
#   manifests/install.sh deploy|undeploy [FOLDER]      FOLDER: a kustomization, by default manifests/base
#
# Environment: KUBECTL (kubectl), IMAGE (gatehouse:dev), TIMEOUT (120s, of each wait), SECRET (gatehouse-tls, where the CA is),
# PURGE=1 (undeploy also deletes kinds that still have objects).
#
# A command whose output decides something never stands in a pipe or in the words of a `for`, where its failure would be nothing said.
set -eu
kubectl=${KUBECTL:-kubectl} image=${IMAGE:-gatehouse:dev} timeout=${TIMEOUT:-120s} secret=${SECRET-gatehouse-tls}
namespace=kube-system folder=${2:-$(dirname "$0")/base}
ours=app.kubernetes.io/name=gatehouse annotation=gatehouse.dev/configuration-hash
webhooks="MutatingWebhookConfiguration ValidatingWebhookConfiguration"
# What an installation may consist of beside its webhooks, its Deployment and its kinds: bindings go before what they bind.
parts="clusterrolebindings.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io
roles.rbac.authorization.k8s.io services networkpolicies.networking.k8s.io poddisruptionbudgets.policy configmaps serviceaccounts
flowschemas.flowcontrol.apiserver.k8s.io prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
# The same, of kinds that a cluster may not have.
strangers="servicemonitors.monitoring.coreos.com prometheusrules.monitoring.coreos.com certificates.cert-manager.io issuers.cert-manager.io"
crds=customresourcedefinitions.apiextensions.k8s.io
apart=gatehouse-evictions   # manifests/evictions is installed apart: no deploy takes it away
which=$ours status=0 work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
# dash runs no EXIT trap for a signal.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
work=$(mktemp -d)

say() { printf 'gatehouse: %s\n' "$*" >&2; }
failed() { say "$*"; status=1; }
# Server-side: the fields that others write, such as a caBundle that is rotated, stay theirs when they are not in the files.
apply() { $kubectl apply --server-side --force-conflicts --field-manager=gatehouse-deploy -f "$1"; }

# Before anything is asked of the cluster: kubectl would complain of it half-way, or the kubelet for ever.
check_environment() {
  printf '%s\n' "$timeout" | grep -qE '^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$' || {
    say "TIMEOUT=$timeout: must be a duration with its unit, such as 120s or 2m"
    exit 2
  }
  printf '%s\n' "$image" | grep -qE '^[A-Za-z0-9][A-Za-z0-9._:/@-]*$' && [ "$(printf '%s\n' "$image" | wc -l)" -eq 1 ] || {
    say "IMAGE=$image: is no reference of an image, such as registry.example.com/gatehouse:1.0"
    exit 2
  }
  command -v "${kubectl%% *}" > "$work/tool" || {
    say "${kubectl%% *} is not here: install kubectl, or say with KUBECTL=… how it is called"
    exit 2
  }
}

# documents FILE KINDS in|out [back]: the documents of FILE whose kind, or kind/name, is (not) one of KINDS; with `back` the last one first.
documents() {
  awk -v kinds=" $2 " -v wanted="$3" -v order="${4:-}" '
    function is_one() { return index(kinds, " " kind " ") > 0 || index(kinds, " " kind "/" name " ") > 0 }
    function keep() { if (kind != "" && is_one() == (wanted == "in")) found[++count] = text; text = kind = name = top = "" }
    /^---$/ { keep(); next }
    /^[^ ]/ { top = $1 }
    /^kind: / { kind = $2 }
    top == "metadata:" && /^  name: / { name = $2 }
    { text = text $0 "\n" }
    END { keep(); for (i = 1; i <= count; i++) printf "%s---\n", found[order == "back" ? count + 1 - i : i] }' "$1"
}

# names FILE: kind/name of each document of FILE, kinds in small letters.
names() {
  awk '
    function keep() { if (kind != "") print tolower(kind) "/" name; kind = name = top = "" }
    /^---$/ { keep(); next }
    /^[^ ]/ { top = $1 }
    /^kind: / { kind = $2 }
    top == "metadata:" && /^  name: / { name = $2 }
    END { keep() }' "$1"
}

# The replicas read their configuration at start: with its hash in their template one that changed rolls them, once, and also when the
# deploy that brought it was interrupted.
hash_configuration() {
  documents "$work/rendered.yaml" ConfigMap/gatehouse in > "$work/configuration.yaml"
  if command -v sha256sum > "$work/tool"; then sha256sum < "$work/configuration.yaml" > "$work/hash"
  elif command -v shasum > "$work/tool"; then shasum -a 256 < "$work/configuration.yaml" > "$work/hash"
  else openssl dgst -sha256 -r < "$work/configuration.yaml" > "$work/hash"; fi
  read -r hash _ < "$work/hash"
  grep -q "$annotation: " "$work/rendered.yaml" ||
    say "no pod template has the annotation $annotation: replicas do not follow a changed configuration"
}

# What is no longer registered goes first: a replica that does not serve it any more would fail its calls.
unregister() {
  for kind in mutatingwebhookconfiguration validatingwebhookconfiguration; do
    gone=
    registered=$($kubectl get "$kind" gatehouse --ignore-not-found -o 'jsonpath={.webhooks[*].name}')
    for name in $registered; do
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

# look FILE ARGUMENTS: what `kubectl get ARGUMENTS` finds, into FILE. False when it could not be seen; why is in $work/error.
look() {
  file=$1
  shift
  $kubectl get "$@" > "$file" 2> "$work/error"
}

# labelled KINDS FILE: kind/name of what bears the label $which in our namespace or in none, into FILE. False when it could not be seen.
labelled() { look "$2" "$1" -n $namespace -l "$which" -o name; }

# find_strangers say|failed: which of $strangers the cluster knows into $work/strangers, kinds that it does not know into $unknown.
find_strangers() {
  unknown=
  # shellcheck disable=SC2086  # names of kinds have no spaces
  look "$work/strangers" $crds $strangers --ignore-not-found -o name || {
    "$1" "it cannot be seen whether anything is left over of $strangers: $(cat "$work/error")"
    : > "$work/strangers"
    return 0
  }
  for kind in ServiceMonitor PrometheusRule Certificate Issuer; do
    grep -qi "/${kind}s\." "$work/strangers" || unknown="$unknown $kind"
  done
}

# find_parts say|failed: what an installation of ours consists of, whatever overlay brought it, into $work/found. What cannot be listed is
# told with the word that is given.
find_parts() {
  find_strangers "$1"
  there=$(sed 's|.*/||' "$work/strangers")
  # shellcheck disable=SC2086
  set -- "$1" $parts $there
  complain=$1
  shift
  labelled "$(IFS=,; echo "$*")" "$work/found" && return 0
  : > "$work/found"
  for part in "$@"; do
    if labelled "$part" "$work/some"; then
      cat "$work/some" >> "$work/found"
    else
      "$complain" "$part may be left over, they cannot be listed: $(cat "$work/error")"
    fi
  done
}

# remove ARGUMENTS: `kubectl delete ARGUMENTS`, bounded. False, and said what holds it, when it is not gone in time.
remove() {
  $kubectl delete --ignore-not-found --timeout="$timeout" "$@" && return 0
  failed "could not be deleted within $timeout: $*"
  tell_holders "$@"
  return 1
}

# tell_holders ARGUMENTS: which of `kubectl get ARGUMENTS` are being deleted, and the finalizers that hold them.
tell_holders() {
  if look "$work/held" "$@" --ignore-not-found --no-headers \
    -o 'custom-columns=K:.kind,S:.metadata.namespace,N:.metadata.name,D:.metadata.deletionTimestamp,F:.metadata.finalizers'; then
    awk '$4 != "<none>" {
      place = $2 == "<none>" ? "" : $2 "/"; kind = $1; name = $3; $1 = $2 = $3 = $4 = ""; sub(/^ +/, "")
      printf "gatehouse: %s %s%s is held by its finalizers: %s\n", kind, place, name, $0 }' "$work/held" >&2
  else
    say "what holds it cannot be read: $(cat "$work/error")"
  fi
}

# prune: what bears our label and is not in the files was brought by another overlay, or by an older version. The rights of plug-ins
# are in no overlay: `gatehouse manifests --all` brings them.
prune() {
  which="$ours,!gatehouse.dev/plugin"
  names "$work/all.yaml" > "$work/names"
  find_parts say
  while read -r object; do
    name=${object#*/} kind=${object%%/*}
    [ "$name" != $apart ] || continue
    ! grep -qxF "${kind%%.*}/$name" "$work/names" || continue
    say "$object is not in $folder"
    remove -n $namespace "$object" < /dev/null || :
  done < "$work/found"
}

deploy() {
  unregister
  apply "$work/rest.yaml"
  say "waiting until the replicas are ready, for at most $timeout"
  $kubectl -n $namespace rollout status deployment gatehouse --timeout="$timeout"
  fill_in_ca
  apply "$work/webhooks.yaml"
  prune
}

# kinds: names of the kinds that are ours, whatever overlay brought them, into $work/kinds.
kinds() {
  labelled $crds "$work/kinds" || {
    failed "kinds that are not in $folder stay, they cannot be listed: $(cat "$work/error")"
    : > "$work/kinds"
  }
  documents "$work/rest.yaml" CustomResourceDefinition in > "$work/kinds.yaml"
  if [ -s "$work/kinds.yaml" ]; then
    look "$work/named" -f "$work/kinds.yaml" --ignore-not-found -o name ||
      failed "kinds of $folder may stay, they cannot be read: $(cat "$work/error")"
    sort -u -o "$work/kinds" "$work/kinds" "$work/named"
  fi
}

# purge: the objects of our kinds, while the replicas still run that take their finalizers off.
purge() {
  while read -r kind; do
    name=${kind#*/}
    say "deleting every one of $name (PURGE=1), for at most $timeout"
    $kubectl delete "$name" --all -A --timeout="$timeout" < /dev/null || {
      say "not every one of $name could be deleted within $timeout"
      tell_holders "$name" -A < /dev/null
      say "the replicas stay, to take off what is theirs; once nothing holds it, do it again (without PURGE=1 the kind stays)"
      exit 1
    }
  done < "$work/kinds"
}

# remove_kinds: those without objects; with PURGE=1 all. One whose objects cannot be counted stays.
remove_kinds() {
  while read -r kind; do
    name=${kind#*/}
    if ! look "$work/objects" "$name" -A -o name < /dev/null; then
      failed "$name stays: its objects cannot be counted: $(cat "$work/error")"
      continue
    fi
    count=$(($(wc -l < "$work/objects")))
    if [ "$count" -gt 0 ] && [ "${PURGE:-}" != 1 ]; then
      say "$name stays: $count of them are there, which would be deleted with it (PURGE=1 does that)"
    else
      remove "$kind" < /dev/null || tell_holders "$name" -A < /dev/null
    fi
  done < "$work/kinds"
}

undeploy() {
  say "taking the webhooks away, for at most $timeout"
  remove -f "$work/webhooks.yaml"
  kinds
  [ "${PURGE:-}" != 1 ] || purge
  # The replicas keep their rights to the end: the leader gives its lease back.
  say "waiting until the Deployment and its pods are gone, for at most $timeout each: a pod answers on while it leaves, and one that
hangs is ended after its terminationGracePeriodSeconds"
  remove -n $namespace deployment gatehouse
  $kubectl -n $namespace wait --for=delete pod -l $ours --timeout="$timeout" || {
    failed "replicas are still there after $timeout; they keep their rights: do it again once they have ended"
    $kubectl -n $namespace get pod -l $ours -o wide
    exit 1
  }
  say "taking the rest away, for at most $timeout"
  find_strangers :   # of a kind that is not known nothing is there
  documents "$work/rest.yaml" "CustomResourceDefinition$unknown" out back > "$work/reversed.yaml"
  remove -f "$work/reversed.yaml" || :
  find_parts failed
  found=$(cat "$work/found")
  # shellcheck disable=SC2086  # neither kinds nor names have spaces
  [ -z "$found" ] || remove -n $namespace $found || :
  remove -n $namespace lease/gatehouse ${secret:+"secret/$secret"} || :   # which the replicas made
  remove_kinds
}

case ${1:-} in
  deploy | undeploy) ;;
  *) say "usage: $0 deploy|undeploy [FOLDER]"; exit 2 ;;
esac
check_environment
$kubectl kustomize "$folder" > "$work/rendered.yaml"
hash_configuration
sed -e "s|image: gatehouse:dev\$|image: $image|" -e "s|$annotation: .*|$annotation: $hash|" "$work/rendered.yaml" > "$work/all.yaml"
documents "$work/all.yaml" "$webhooks" in > "$work/webhooks.yaml"
documents "$work/all.yaml" "$webhooks" out > "$work/rest.yaml"
"$1"
exit $status
