// Says what the API server's LimitRanger and its quota evaluator make of a pod. Reads one JSON object a line on standard input:
//
//	{"pod": ..., "ranges": [LimitRange, ...], "quotas": [ResourceQuota, ...]}
//
// and answers one a line: the pod with every default, what LimitRanger refuses it for, what it uses, in which quotas it
// counts, and what the quotas refuse it for; or {"error": text}.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	evaluator "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/utils/clock"
)

type question struct {
	Pod    v1.Pod             `json:"pod"`
	Ranges []v1.LimitRange    `json:"ranges"`
	Quotas []v1.ResourceQuota `json:"quotas"`
}

type answer struct {
	Error   string            `json:"error,omitempty"`
	Pod     *v1.Pod           `json:"pod,omitempty"`
	Limits  []string          `json:"limits"` // "name of the range: why"
	Usage   map[string]string `json:"usage"`
	Matches []bool            `json:"matches"`
	Quotas  []string          `json:"quotas"`
}

func decide(asked question) (answer, error) {
	result := answer{Pod: &v1.Pod{}, Limits: []string{}, Usage: map[string]string{}, Matches: []bool{}, Quotas: []string{}}
	corev1.SetObjectDefaults_Pod(&asked.Pod)
	pod := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(&asked.Pod, pod, nil); err != nil {
		return result, err
	}
	for index := range asked.Ranges {
		corev1.SetObjectDefaults_LimitRange(&asked.Ranges[index])
		if err := limitranger.PodMutateLimitFunc(&asked.Ranges[index], pod); err != nil {
			return result, err
		}
	}
	podutil.DefaultPodLevelResources(pod) // as PrepareForCreate does, before anything is validated
	for index := range asked.Ranges {
		err := limitranger.PodValidateLimitFunc(&asked.Ranges[index], pod)
		if aggregate, ok := err.(utilerrors.Aggregate); ok && aggregate != nil {
			for _, reason := range aggregate.Errors() {
				result.Limits = append(result.Limits, asked.Ranges[index].Name+": "+reason.Error())
			}
		}
	}
	pods := evaluator.NewPodEvaluator(func(schema.GroupVersionResource) (cache.GenericLister, error) { return nil, nil }, clock.RealClock{})
	usage, err := pods.Usage(pod)
	if err != nil {
		return result, err
	}
	for name, quantity := range usage {
		number, suffix := quantity.CanonicalizeBytes(nil)
		result.Usage[string(name)] = string(number) + string(suffix)
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	create := admission.NewAttributesRecord(pod, nil, core.Kind("Pod").WithVersion("v1"), "shop", "web", resource, "", admission.Create, &metav1.CreateOptions{}, false, nil)
	for _, quota := range asked.Quotas {
		matches, err := pods.Matches(&quota, pod)
		if err != nil {
			return result, err
		}
		result.Matches = append(result.Matches, matches)
		if _, err := resourcequota.CheckRequest([]v1.ResourceQuota{quota}, create, pods, nil); err != nil {
			_, why, _ := strings.Cut(err.Error(), "forbidden: ")
			result.Quotas = append(result.Quotas, why)
		}
	}
	return result, corev1.Convert_core_Pod_To_v1_Pod(pod, result.Pod, nil)
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for in.Scan() {
		var asked question
		err := json.Unmarshal(in.Bytes(), &asked)
		var result answer
		if err == nil {
			result, err = decide(asked)
		}
		if err != nil {
			result = answer{Error: err.Error()}
		}
		if err := encoder.Encode(result); err != nil {
			panic(err)
		}
		out.Flush()
	}
	if err := in.Err(); err != nil {
		panic(err)
	}
}
