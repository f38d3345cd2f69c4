package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

const (
	voteAnnotation = "superedgehealth/node-health"
	maxGuard       = 24 * time.Hour
	nodesGroup     = "system:nodes"
)

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(discoveryv1.AddToScheme(scheme))
}

// nodeFacts is what rules ask of a node.
type nodeFacts struct {
	ready   corev1.ConditionStatus
	since   time.Time
	healthy bool // say its peers
}

// guarded tells whether a node is silent and its peers, not too long ago, vouch for it.
func (n nodeFacts) guarded(now time.Time) bool {
	return n.ready == corev1.ConditionUnknown && n.healthy && !n.since.IsZero() && now.Sub(n.since) <= maxGuard
}

// podFacts is what rules ask of a pod.
type podFacts struct {
	uid             string
	over            bool // deleting or finished
	ready           corev1.ConditionStatus
	containersReady corev1.ConditionStatus
	gatesMet        bool
}

// wasReady tells whether the pod was ready before its node went silent; known is false when the pod does not tell.
func (p podFacts) wasReady() (ready, known bool) {
	switch {
	case p.over:
		return false, true
	case p.ready == corev1.ConditionFalse && p.containersReady == corev1.ConditionTrue && p.gatesMet:
		return true, true // only the node controller does that
	case p.ready == corev1.ConditionTrue && p.containersReady != corev1.ConditionFalse:
		return true, true
	}
	return false, p.containersReady != ""
}

// facts are looked up by name; both are safe for any number of callers.
type facts interface {
	node(name string) (nodeFacts, bool)
	pod(namespace, name string) (podFacts, bool)
}

// files are facts that do not change.
type files struct {
	nodes map[string]nodeFacts
	pods  map[string]podFacts // by namespace/name
}

func (f files) node(name string) (nodeFacts, bool) {
	found, ok := f.nodes[name]
	return found, ok
}

func (f files) pod(namespace, name string) (podFacts, bool) {
	found, ok := f.pods[namespace+"/"+name]
	return found, ok
}

func readFacts(folder string) (facts, error) {
	read := files{map[string]nodeFacts{}, map[string]podFacts{}}
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		switch base := filepath.Base(name); {
		case strings.HasPrefix(base, "nodes-"):
			var list corev1.NodeList
			if err := json.Unmarshal(text, &list); err != nil {
				return nil, err
			}
			for i := range list.Items {
				read.nodes[list.Items[i].Name] = factsOfNode(&list.Items[i], &list.Items[i])
			}
		case strings.HasPrefix(base, "pods-"):
			var list corev1.PodList
			if err := json.Unmarshal(text, &list); err != nil {
				return nil, err
			}
			for i := range list.Items {
				read.pods[list.Items[i].Namespace+"/"+list.Items[i].Name] = factsOfPod(&list.Items[i])
			}
		}
	}
	return read, nil
}

// factsOfNode takes the vote from node, Ready from statusOf.
func factsOfNode(node, statusOf *corev1.Node) nodeFacts {
	found := nodeFacts{healthy: node.Annotations[voteAnnotation] == "true"}
	for i := range statusOf.Status.Conditions {
		if condition := &statusOf.Status.Conditions[i]; condition.Type == corev1.NodeReady {
			found.ready, found.since = condition.Status, condition.LastTransitionTime.Time
		}
	}
	return found
}

func factsOfPod(pod *corev1.Pod) podFacts {
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	found := podFacts{uid: string(pod.UID), over: finished || pod.DeletionTimestamp != nil, gatesMet: true}
	for _, condition := range pod.Status.Conditions {
		switch condition.Type {
		case corev1.PodReady:
			found.ready = condition.Status
		case corev1.ContainersReady:
			found.containersReady = condition.Status
		}
	}
	for _, gate := range pod.Spec.ReadinessGates {
		met := false
		for _, condition := range pod.Status.Conditions {
			met = met || condition.Type == gate.ConditionType && condition.Status == corev1.ConditionTrue
		}
		found.gatesMet = found.gatesMet && met
	}
	return found
}
