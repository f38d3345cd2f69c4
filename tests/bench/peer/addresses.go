package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	poolLabel      = "gatehouse.dev/ip-pool"
	allocatedLabel = "allocated-ip"
	calicoMark     = "cni.projectcalico.org/ipAddrs"
	keyMark        = "gatehouse.dev/reservation-key"
)

// pool gives each address once, and lets the API server decide who has it. It does less than Gatehouse: it knows neither what the
// network has in use nor what an owner had before, gives nothing back, and reads no lists.
type pool struct {
	client client.Client
	name   string
	mutex  sync.Mutex
	free   []string // in an order of chance
}

func newPool(kubeconfig, name, prefix string) (*pool, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	writer, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	all, err := netip.ParsePrefix(prefix)
	if err != nil {
		return nil, err
	}
	made := &pool{client: writer, name: name}
	for address := all.Addr(); all.Contains(address); address = address.Next() {
		made.free = append(made.free, address.String())
	}
	rand.Shuffle(len(made.free), func(i, j int) { made.free[i], made.free[j] = made.free[j], made.free[i] })
	return made, nil
}

// next is an address that this process has not tried yet.
func (p *pool) next() (string, bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.free) == 0 {
		return "", false
	}
	last := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return last, true
}

// reserve is an address that nobody else has.
func (p *pool) reserve(ctx context.Context, req admission.Request, key string, owner *metav1.OwnerReference) (string, error) {
	for {
		address, ok := p.next()
		if !ok {
			return "", fmt.Errorf("AddressPool %q has no free address", p.name)
		}
		spec := map[string]any{
			"ip": address, "reservationKey": key, "namespace": req.Namespace, "requestUID": string(req.UID), "pool": p.name,
		}
		if owner != nil {
			spec["owner"] = map[string]any{"kind": owner.Kind, "name": owner.Name, "uid": string(owner.UID)}
		}
		reservation := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "gatehouse.dev/v1alpha1",
			"kind":       "AddressReservation",
			"metadata":   map[string]any{"name": address},
			"spec":       spec,
		}}
		if err := p.client.Create(ctx, reservation); !apierrors.IsAlreadyExists(err) {
			return address, err
		}
	}
}

// podIP gives a pod that asks for it an address of its pool.
func (h handler) podIP(ctx context.Context, req admission.Request) admission.Response {
	var pod corev1.Pod
	if err := h.decoder.Decode(req, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.Operation != admissionv1.Create || pod.Labels[poolLabel] != h.pool.name || pod.Annotations[keyMark] != "" {
		return admission.Allowed("")
	}
	if req.DryRun != nil && *req.DryRun {
		return admission.Allowed("")
	}
	key := strings.ToLower(string(req.UID))
	address, err := h.pool.reserve(ctx, req, key, metav1.GetControllerOf(&pod))
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	var operations []jsonpatch.JsonPatchOperation
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
		operations = append(operations, jsonpatch.NewOperation("add", "/metadata/annotations", pod.Annotations))
	}
	pod.Labels[allocatedLabel] = address
	pod.Annotations[calicoMark] = fmt.Sprintf("[%q]", address)
	pod.Annotations[keyMark] = key
	operations = append(operations,
		jsonpatch.NewOperation("add", "/metadata/labels/"+allocatedLabel, address),
		jsonpatch.NewOperation("add", "/metadata/annotations/"+strings.ReplaceAll(calicoMark, "/", "~1"), pod.Annotations[calicoMark]),
		jsonpatch.NewOperation("add", "/metadata/annotations/"+strings.ReplaceAll(keyMark, "/", "~1"), key))
	return h.patched(req, &pod, operations)
}
