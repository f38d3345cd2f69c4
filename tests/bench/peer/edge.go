package main

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"gomodules.xyz/jsonpatch/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// handler holds what every rule needs.
type handler struct {
	facts   facts
	rules   rules
	decoder admission.Decoder
	own     bool // operations by hand
	pool    *pool
}

// patched is the answer to an object that was changed: by comparison, or with operations that were written meanwhile.
func (h handler) patched(req admission.Request, object any, operations []jsonpatch.JsonPatchOperation) admission.Response {
	if h.own {
		return admission.Patched("", operations...)
	}
	changed, err := json.Marshal(object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, changed)
}

// nodeTaint drops the taint that would evict the pods of a silent node that its peers vouch for.
func (h handler) nodeTaint(_ context.Context, req admission.Request) admission.Response {
	if slices.Contains(req.UserInfo.Groups, nodesGroup) {
		return admission.Allowed("")
	}
	var node, old corev1.Node
	if err := h.decoder.Decode(req, &node); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	evicting := func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeUnreachable && taint.Effect == corev1.TaintEffectNoExecute
	}
	if !slices.ContainsFunc(node.Spec.Taints, evicting) {
		return admission.Allowed("")
	}
	statusOf := &node
	if len(req.OldObject.Raw) > 0 {
		if err := h.decoder.DecodeRaw(req.OldObject, &old); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		statusOf = &old
	}
	if !factsOfNode(&node, statusOf).guarded(time.Now()) {
		return admission.Allowed("")
	}
	var operations []jsonpatch.JsonPatchOperation
	for i := len(node.Spec.Taints) - 1; i >= 0; i-- {
		if evicting(node.Spec.Taints[i]) {
			operations = append(operations, jsonpatch.NewOperation("remove", "/spec/taints/"+strconv.Itoa(i), nil))
		}
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, evicting)
	return h.patched(req, &node, operations)
}

// podStatus puts back the Ready condition that the node controller alone took.
func (h handler) podStatus(_ context.Context, req admission.Request) admission.Response {
	var pod, old corev1.Pod
	if slices.Contains(req.UserInfo.Groups, nodesGroup) || len(req.OldObject.Raw) == 0 {
		return admission.Allowed("")
	}
	if err := h.decoder.Decode(req, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	node, known := h.facts.node(pod.Spec.NodeName)
	if !known || !node.guarded(time.Now()) || pod.DeletionTimestamp != nil {
		return admission.Allowed("")
	}
	if err := h.decoder.DecodeRaw(req.OldObject, &old); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	place, ready := condition(&pod, corev1.PodReady)
	_, containers := condition(&pod, corev1.ContainersReady)
	_, before := condition(&old, corev1.PodReady)
	if ready == nil || containers == nil || before == nil || ready.Status != corev1.ConditionFalse ||
		containers.Status != corev1.ConditionTrue || before.Status != corev1.ConditionTrue || !onlyReady(&old, &pod) {
		return admission.Allowed("")
	}
	*ready = *before
	path := "/status/conditions/" + strconv.Itoa(place)
	return h.patched(req, &pod, []jsonpatch.JsonPatchOperation{jsonpatch.NewOperation("replace", path, before)})
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) (int, *corev1.PodCondition) {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return i, &pod.Status.Conditions[i]
		}
	}
	return 0, nil
}

// onlyReady tells whether the statuses differ in nothing but Ready and the generation that was seen.
func onlyReady(old, pod *corev1.Pod) bool {
	before, after := old.Status, pod.Status
	isReady := func(condition corev1.PodCondition) bool { return condition.Type == corev1.PodReady }
	before.Conditions = slices.DeleteFunc(slices.Clone(before.Conditions), isReady)
	after.Conditions = slices.DeleteFunc(slices.Clone(after.Conditions), isReady)
	before.ObservedGeneration, after.ObservedGeneration = 0, 0
	for i := range before.Conditions {
		before.Conditions[i].ObservedGeneration = 0
	}
	for i := range after.Conditions {
		after.Conditions[i].ObservedGeneration = 0
	}
	return reflect.DeepEqual(before, after)
}

// endpoint keeps the addresses of silent nodes that their peers vouch for.
func (h handler) endpoint(_ context.Context, req admission.Request) admission.Response {
	if req.Resource.Resource == "endpointslices" {
		return h.slice(req)
	}
	var endpoints corev1.Endpoints
	if err := h.decoder.Decode(req, &endpoints); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	judge := h.judge(func() (map[address]bool, error) {
		var old corev1.Endpoints
		if err := h.decoder.DecodeRaw(req.OldObject, &old); err != nil {
			return nil, err
		}
		return readyInEndpoints(&old), nil
	})
	var operations []jsonpatch.JsonPatchOperation
	for i := range endpoints.Subsets {
		subset := &endpoints.Subsets[i]
		var moved, left []corev1.EndpointAddress
		for _, item := range subset.NotReadyAddresses {
			if judge.keeps(addressOf(item.IP, item.NodeName, item.TargetRef)) {
				moved = append(moved, item)
			} else {
				left = append(left, item)
			}
		}
		if len(moved) == 0 {
			continue
		}
		path, verb := "/subsets/"+strconv.Itoa(i), "replace"
		if len(subset.Addresses) == 0 {
			verb = "add"
		}
		subset.Addresses, subset.NotReadyAddresses = append(subset.Addresses, moved...), left
		operations = append(operations, jsonpatch.NewOperation(verb, path+"/addresses", subset.Addresses))
		if len(left) == 0 {
			operations = append(operations, jsonpatch.NewOperation("remove", path+"/notReadyAddresses", nil))
		} else {
			operations = append(operations, jsonpatch.NewOperation("replace", path+"/notReadyAddresses", left))
		}
	}
	if judge.err != nil {
		return admission.Errored(http.StatusBadRequest, judge.err)
	}
	if operations == nil {
		return admission.Allowed("")
	}
	return h.patched(req, &endpoints, operations)
}

func (h handler) slice(req admission.Request) admission.Response {
	var slice discoveryv1.EndpointSlice
	if err := h.decoder.Decode(req, &slice); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	judge := h.judge(func() (map[address]bool, error) {
		var old discoveryv1.EndpointSlice
		if err := h.decoder.DecodeRaw(req.OldObject, &old); err != nil {
			return nil, err
		}
		return readyInSlice(&old), nil
	})
	var operations []jsonpatch.JsonPatchOperation
	yes := true
	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		conditions := &endpoint.Conditions
		isReady := conditions.Ready == nil || *conditions.Ready
		serves := conditions.Serving == nil || *conditions.Serving
		if conditions.Terminating != nil && *conditions.Terminating || isReady && serves {
			continue
		}
		if !judge.keeps(addressOfSlice(endpoint)) {
			continue
		}
		conditions.Ready = &yes
		if conditions.Serving != nil {
			conditions.Serving = &yes
		}
		operations = append(operations, jsonpatch.NewOperation("replace", "/endpoints/"+strconv.Itoa(i)+"/conditions", conditions))
	}
	if judge.err != nil {
		return admission.Errored(http.StatusBadRequest, judge.err)
	}
	if operations == nil {
		return admission.Allowed("")
	}
	return h.patched(req, &slice, operations)
}

// address is one published address: equal when it is the same address of the same pod.
type address struct{ ip, node, namespace, pod, uid string }

func addressOf(ip string, node *string, target *corev1.ObjectReference) address {
	found := address{ip: ip}
	if node != nil {
		found.node = *node
	}
	if target != nil && target.Kind == "Pod" {
		found.namespace, found.pod, found.uid = target.Namespace, target.Name, string(target.UID)
	}
	return found
}

func addressOfSlice(endpoint *discoveryv1.Endpoint) address {
	ip := ""
	if len(endpoint.Addresses) > 0 {
		ip = endpoint.Addresses[0]
	}
	return addressOf(ip, endpoint.NodeName, endpoint.TargetRef)
}

func readyInEndpoints(endpoints *corev1.Endpoints) map[address]bool {
	found := map[address]bool{}
	for i := range endpoints.Subsets {
		for _, item := range endpoints.Subsets[i].Addresses {
			found[addressOf(item.IP, item.NodeName, item.TargetRef)] = true
		}
	}
	return found
}

func readyInSlice(slice *discoveryv1.EndpointSlice) map[address]bool {
	found := map[address]bool{}
	for i := range slice.Endpoints {
		conditions := slice.Endpoints[i].Conditions
		serves := conditions.Serving
		if serves == nil {
			serves = conditions.Ready
		}
		if !(conditions.Terminating != nil && *conditions.Terminating) && (serves == nil || *serves) {
			found[addressOfSlice(&slice.Endpoints[i])] = true
		}
	}
	return found
}

// judge decides about the addresses of one request, each node once.
type judge struct {
	facts   facts
	now     time.Time
	guarded map[string]bool
	readOld func() (map[address]bool, error) // only when a pod does not tell
	old     map[address]bool
	err     error
}

func (h handler) judge(readOld func() (map[address]bool, error)) *judge {
	return &judge{facts: h.facts, now: time.Now(), guarded: map[string]bool{}, readOld: readOld}
}

func (j *judge) keeps(one address) bool {
	guarded, asked := j.guarded[one.node]
	if !asked {
		node, known := j.facts.node(one.node)
		guarded = known && node.guarded(j.now)
		j.guarded[one.node] = guarded
	}
	if !guarded || j.err != nil {
		return false
	}
	if one.pod != "" {
		if pod, known := j.facts.pod(one.namespace, one.pod); known {
			if one.uid != "" && one.uid != pod.uid {
				return false
			}
			if ready, told := pod.wasReady(); told {
				return ready
			}
		}
	}
	if j.old == nil {
		j.old, j.err = j.readOld()
	}
	return j.old[one]
}
