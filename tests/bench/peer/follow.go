package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What rules read of labels and annotations, the same as controllers/runtime/projection.py keeps of them.
var (
	nodeAnnotations = []string{voteAnnotation}
	podAnnotations  = []string{injectMark, entriesMark, injectedMark, corev1.MirrorPodAnnotationKey, calicoMark, keyMark}
	podLabels       = []string{injectMark, entriesMark, ownLabel, "allocatable-ips", allocatedLabel, poolLabel}
)

const (
	injectMark  = "sidecar-injector/inject"
	entriesMark = "gatehouse.dev/inject"
)

// trimmed keeps the fields that Gatehouse's own caches keep, as cache.Options.DefaultTransform is for.
func trimmed(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Node:
		spec, status := object.Spec, object.Status
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:            object.Name,
				UID:             object.UID,
				ResourceVersion: object.ResourceVersion,
				Labels:          object.Labels,
				Annotations:     only(object.Annotations, nodeAnnotations),
			},
			Spec: corev1.NodeSpec{Taints: spec.Taints, Unschedulable: spec.Unschedulable},
			Status: corev1.NodeStatus{
				Conditions:  nodeConditions(status.Conditions),
				NodeInfo:    corev1.NodeSystemInfo{KubeletVersion: status.NodeInfo.KubeletVersion},
				Allocatable: allocatable(status.Allocatable),
			},
		}, nil
	case *corev1.Pod:
		spec := object.Spec
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:              object.Name,
				Namespace:         object.Namespace,
				UID:               object.UID,
				ResourceVersion:   object.ResourceVersion,
				CreationTimestamp: object.CreationTimestamp,
				DeletionTimestamp: object.DeletionTimestamp,
				OwnerReferences:   controlling(object.OwnerReferences),
				Annotations:       only(object.Annotations, podAnnotations),
				Labels:            only(object.Labels, podLabels),
			},
			Spec: corev1.PodSpec{
				NodeName:        spec.NodeName,
				HostNetwork:     spec.HostNetwork,
				OS:              spec.OS,
				ReadinessGates:  spec.ReadinessGates,
				SchedulingGates: spec.SchedulingGates,
			},
			Status: corev1.PodStatus{Phase: object.Status.Phase, Conditions: podConditions(object)},
		}, nil
	}
	return object, nil
}

// only is what there is of keys; nil when there is nothing.
func only(there map[string]string, keys []string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, ok := there[key]; ok {
			if kept == nil {
				kept = make(map[string]string, 1)
			}
			kept[key] = value
		}
	}
	return kept
}

func controlling(owners []metav1.OwnerReference) []metav1.OwnerReference {
	for _, owner := range owners {
		if owner.Controller != nil && *owner.Controller {
			return []metav1.OwnerReference{owner}
		}
	}
	return nil
}

func allocatable(there corev1.ResourceList) corev1.ResourceList {
	kept := make(corev1.ResourceList, 2)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if amount, ok := there[name]; ok {
			kept[name] = amount
		}
	}
	return kept
}

func nodeConditions(there []corev1.NodeCondition) []corev1.NodeCondition {
	for _, one := range there {
		if one.Type == corev1.NodeReady {
			return []corev1.NodeCondition{{Type: one.Type, Status: one.Status, LastTransitionTime: one.LastTransitionTime}}
		}
	}
	return nil
}

func podConditions(pod *corev1.Pod) []corev1.PodCondition {
	kept := make([]corev1.PodCondition, 0, 2+len(pod.Spec.ReadinessGates))
	for _, one := range pod.Status.Conditions {
		read := one.Type == corev1.PodReady || one.Type == corev1.ContainersReady
		for _, gate := range pod.Spec.ReadinessGates {
			read = read || gate.ConditionType == one.Type
		}
		if read {
			kept = append(kept, corev1.PodCondition{Type: one.Type, Status: one.Status, Reason: one.Reason})
		}
	}
	return kept
}

func started(ctx context.Context, kubeconfig string, objects ...client.Object) (cache.Cache, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit of its own
	kept, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: trimmed})
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if _, err := kept.GetInformer(ctx, object, cache.BlockUntilSynced(false)); err != nil {
			return nil, err
		}
	}
	go func() {
		if err := kept.Start(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "peer: the cache ended: %v\n", err)
			os.Exit(1)
		}
	}()
	if !kept.WaitForCacheSync(ctx) {
		return nil, fmt.Errorf("the cache does not sync")
	}
	return kept, nil
}

// processor is the time that this process has used.
func processor() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// clusterFacts are what controller-runtime's cache has.
func clusterFacts(ctx context.Context, kubeconfig string) (facts, error) {
	kept, err := started(ctx, kubeconfig, &corev1.Node{}, &corev1.Pod{})
	return cached{kept}, err
}

type cached struct{ reader client.Reader }

func (c cached) node(name string) (nodeFacts, bool) {
	var node corev1.Node
	if c.reader.Get(context.Background(), types.NamespacedName{Name: name}, &node, client.UnsafeDisableDeepCopy) != nil {
		return nodeFacts{}, false
	}
	return factsOfNode(&node, &node), true
}

func (c cached) pod(namespace, name string) (podFacts, bool) {
	var pod corev1.Pod
	if c.reader.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, &pod, client.UnsafeDisableDeepCopy) != nil {
		return podFacts{}, false
	}
	return factsOfPod(&pod), true
}

// follow keeps nodes or pods, and tells with one JSON line when it has them all; then, at once, of each further so many changes
// that it has heard of, with the time of day.
func follow(ctx context.Context, kubeconfig, kind string, each int64) error {
	var object client.Object = &corev1.Node{}
	if kind == "pods" {
		object = &corev1.Pod{}
	}
	begin, spent := time.Now(), processor()
	kept, err := started(ctx, kubeconfig, object)
	if err != nil {
		return err
	}
	informer, err := kept.GetInformer(ctx, object)
	if err != nil {
		return err
	}
	say := json.NewEncoder(os.Stdout)
	_ = say.Encode(map[string]float64{"synced": time.Since(begin).Seconds(), "processor": (processor() - spent).Seconds()})
	heard := int64(0) // of the goroutine that calls the handlers, one at a time
	hear := func() {
		if heard++; heard%each == 0 {
			at := float64(time.Now().UnixNano()) / 1e9
			_ = say.Encode(map[string]float64{"heard": float64(heard), "at": at})
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) { hear() },
		DeleteFunc: func(any) { hear() },
	}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
