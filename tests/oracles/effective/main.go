// Says what a pod asks for as the Kubernetes components count it. Reads one JSON pod a line on standard input, answers one a line:
//
//	{"requests": {resource: text}, "limits": {...}, "bareRequests": {...}, "bareLimits": {...}} or {"error": text}
//
// bare: the containers only, without spec.resources and overhead.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

func texts(list v1.ResourceList) map[string]string {
	result := map[string]string{}
	for name, quantity := range list {
		number, suffix := quantity.CanonicalizeBytes(nil)
		result[string(name)] = string(number) + string(suffix)
	}
	return result
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for in.Scan() {
		var answer any
		var pod v1.Pod
		if err := json.Unmarshal(in.Bytes(), &pod); err != nil {
			answer = map[string]string{"error": err.Error()}
		} else {
			bare := resource.PodResourcesOptions{SkipPodLevelResources: true, ExcludeOverhead: true}
			answer = map[string]map[string]string{
				"requests":     texts(resource.PodRequests(&pod, resource.PodResourcesOptions{})),
				"limits":       texts(resource.PodLimits(&pod, resource.PodResourcesOptions{})),
				"bareRequests": texts(resource.PodRequests(&pod, bare)),
				"bareLimits":   texts(resource.PodLimits(&pod, bare)),
			}
		}
		if err := encoder.Encode(answer); err != nil {
			panic(err)
		}
		out.Flush()
	}
	if err := in.Err(); err != nil {
		panic(err)
	}
}
