package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trimmed drops what no rule reads before an object is kept, as cache.Options.DefaultTransform is for.
func trimmed(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Node:
		object.ManagedFields, object.Status.Images = nil, nil
	case *corev1.Pod:
		object.ManagedFields, object.Spec.Containers, object.Spec.InitContainers, object.Spec.Volumes = nil, nil, nil, nil
		object.Status.ContainerStatuses, object.Status.InitContainerStatuses = nil, nil
	}
	return object, nil
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

// follow keeps nodes or pods, and tells with one JSON line when it has them all, then how many changes it heard of, each 100 ms.
func follow(ctx context.Context, kubeconfig, kind string) error {
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
	var heard atomic.Int64
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, _ any) { heard.Add(1) },
		DeleteFunc: func(any) { heard.Add(1) },
	}); err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	for told := int64(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if now := heard.Load(); now != told {
				told = now
				_ = say.Encode(map[string]int64{"heard": now})
			}
		}
	}
}
