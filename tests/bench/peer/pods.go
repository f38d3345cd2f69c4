package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helpers "k8s.io/component-helpers/resource"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	defaultContainer = "kubectl.kubernetes.io/default-container"
	injectedMark     = "gatehouse.dev/injected"
	ownLabel         = "app.kubernetes.io/name"
)

// rules are what a controller-runtime team would keep in its configuration.
type rules struct {
	Namespaces []string                      `json:"namespaces"` // whose pods get the sidecar
	Mark       string                        `json:"mark"`       // value of the annotation that says what was injected
	Sidecar    corev1.PodSpec                `json:"sidecar"`    // init containers that go on running, and volumes
	Limits     map[string]span               `json:"limits"`     // of every container, by resource
	PodMax     map[string]resource.Quantity  `json:"podMax"`     // of the effective pod's requests
	Pool       struct{ Name, Prefix string } `json:"pool"`       // of fixed addresses
}

// span holds the maxima of one resource of a container; nil where there is none.
type span struct {
	Requests *resource.Quantity `json:"requests"`
	Limits   *resource.Quantity `json:"limits"`
	Ratio    int64              `json:"ratio"` // of limit to request; 0 where there is none
}

func readRules(file string) (rules, error) {
	var read rules
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	return read, err
}

// inject gives a created pod the sidecar of its namespace.
func (h handler) inject(_ context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create || !slices.Contains(h.rules.Namespaces, req.Namespace) {
		return admission.Allowed("")
	}
	var pod corev1.Pod
	if err := h.decoder.Decode(req, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	if mirror || pod.Labels[ownLabel] == "gatehouse" || len(pod.Spec.Containers) == 0 {
		return admission.Allowed("")
	}
	if pod.Spec.HostNetwork {
		return admission.Allowed("").WithWarnings("the pod is on the host network: it gets no sidecar")
	}
	var operations []jsonpatch.JsonPatchOperation
	extend := func(path string, there int, values ...any) {
		if there == 0 {
			operations = append(operations, jsonpatch.NewOperation("add", path, values))
			return
		}
		for _, value := range values {
			operations = append(operations, jsonpatch.NewOperation("add", path+"/-", value))
		}
	}
	for _, volume := range h.rules.Sidecar.Volumes {
		if !slices.ContainsFunc(pod.Spec.Volumes, func(one corev1.Volume) bool { return one.Name == volume.Name }) {
			extend("/spec/volumes", len(pod.Spec.Volumes), volume)
			pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
		}
	}
	for _, container := range h.rules.Sidecar.InitContainers {
		if !slices.ContainsFunc(pod.Spec.InitContainers, func(one corev1.Container) bool { return one.Name == container.Name }) {
			extend("/spec/initContainers", len(pod.Spec.InitContainers), container)
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
		operations = append(operations, jsonpatch.NewOperation("add", "/metadata/annotations", pod.Annotations))
	}
	annotate := func(key, value string) {
		if pod.Annotations[key] != value {
			pod.Annotations[key] = value
			operations = append(operations, jsonpatch.NewOperation("add", "/metadata/annotations/"+strings.ReplaceAll(key, "/", "~1"), value))
		}
	}
	if _, chosen := pod.Annotations[defaultContainer]; !chosen {
		annotate(defaultContainer, pod.Spec.Containers[0].Name)
	}
	annotate(injectedMark, h.rules.Mark)
	return h.patched(req, &pod, operations)
}

// validate refuses pods that ask for more than they may, with every breach at once.
func (h handler) validate(_ context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create || req.SubResource != "" {
		return admission.Allowed("")
	}
	var pod corev1.Pod
	if err := h.decoder.Decode(req, &pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	var breaches []string
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			breaches = h.rules.breaches(breaches, &containers[i])
		}
	}
	if len(h.rules.PodMax) > 0 {
		effective := helpers.PodRequests(&pod, helpers.PodResourcesOptions{})
		for name, most := range h.rules.PodMax {
			if asked := effective[corev1.ResourceName(name)]; asked.Cmp(most) > 0 {
				breaches = append(breaches, fmt.Sprintf("pod: %s request %s exceeds the maximum of %s", name, asked.String(), most.String()))
			}
		}
	}
	if breaches != nil {
		return admission.Denied(strings.Join(breaches, "; "))
	}
	return admission.Allowed("").WithWarnings(typos(&pod)...)
}

func (r rules) breaches(found []string, container *corev1.Container) []string {
	for name, bounds := range r.Limits {
		limit, limited := container.Resources.Limits[corev1.ResourceName(name)]
		request, requested := container.Resources.Requests[corev1.ResourceName(name)]
		if !requested {
			request, requested = limit, limited // as the API server defaults it
		}
		if bounds.Requests != nil && request.Cmp(*bounds.Requests) > 0 {
			found = append(found, fmt.Sprintf("container %q: %s request %s exceeds the maximum of %s", container.Name, name, &request, bounds.Requests))
		}
		if bounds.Limits != nil && limited && limit.Cmp(*bounds.Limits) > 0 {
			found = append(found, fmt.Sprintf("container %q: %s limit %s exceeds the maximum of %s", container.Name, name, &limit, bounds.Limits))
		}
		if bounds.Ratio > 0 && limited && requested && limit.MilliValue() > bounds.Ratio*request.MilliValue() {
			found = append(found, fmt.Sprintf("container %q: %s limit %s is more than %d times its request", container.Name, name, &limit, bounds.Ratio))
		}
	}
	return found
}

// typos are amounts of memory that end in m, which stands for a thousandth of a byte.
func typos(pod *corev1.Pod) (warnings []string) {
	for i := range pod.Spec.Containers {
		for _, list := range []corev1.ResourceList{pod.Spec.Containers[i].Resources.Requests, pod.Spec.Containers[i].Resources.Limits} {
			if memory, ok := list[corev1.ResourceMemory]; ok && memory.MilliValue()%1000 != 0 {
				warnings = append(warnings, fmt.Sprintf("container %q: memory %s is a fraction of a byte", pod.Spec.Containers[i].Name, &memory))
			}
		}
	}
	return warnings
}
