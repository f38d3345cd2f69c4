// Reads reviews on standard input, one JSON object a line, {"level": "restricted", "version": "v1.37", "pod": {...}}, and
// answers with the ids of the checks by which the API server's own evaluator refuses the pod: ["hostPorts", ...].
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

type review struct {
	Level   string     `json:"level"`
	Version string     `json:"version"`
	Pod     corev1.Pod `json:"pod"`
}

// ids names the checks that a level and version run, in the order in which the evaluator gives their results: it does not
// tell their names itself.
func ids(checks []policy.Check, wanted api.LevelVersion) []string {
	replaced := map[policy.CheckID]bool{}
	counts := func(check policy.Check) (found bool) {
		for _, revision := range check.Versions {
			if !wanted.Version.Older(revision.MinimumVersion) {
				found = true
			}
		}
		return found
	}
	var baseline, restricted []string
	for _, check := range checks {
		if check.Level == api.LevelRestricted && wanted.Level == api.LevelRestricted && counts(check) {
			restricted = append(restricted, string(check.ID))
			for _, revision := range check.Versions {
				for _, id := range revision.OverrideCheckIDs {
					replaced[id] = true
				}
			}
		}
	}
	for _, check := range checks {
		if check.Level == api.LevelBaseline && counts(check) && !replaced[check.ID] {
			baseline = append(baseline, string(check.ID))
		}
	}
	slices.Sort(baseline)
	slices.Sort(restricted)
	return append(baseline, restricted...)
}

func refused(evaluator policy.Evaluator, checks []policy.Check, asked review) []string {
	level, err := api.ParseLevel(asked.Level)
	if err != nil {
		panic(err)
	}
	version, err := api.ParseVersion(asked.Version)
	if err != nil {
		panic(err)
	}
	// The API server completes a volume before anybody looks at it (pkg/apis/core/v1/defaults.go, SetDefaults_Volume).
	for i := range asked.Pod.Spec.Volumes {
		if volume := &asked.Pod.Spec.Volumes[i]; volume.VolumeSource == (corev1.VolumeSource{}) {
			volume.EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
	wanted := api.LevelVersion{Level: level, Version: version}
	results := evaluator.EvaluatePod(wanted, &asked.Pod.ObjectMeta, &asked.Pod.Spec)
	failing := []string{}
	if level == api.LevelPrivileged {
		return failing
	}
	names := ids(checks, wanted)
	if len(names) != len(results) {
		panic(fmt.Sprintf("%d names for %d results", len(names), len(results)))
	}
	for i, result := range results {
		if !result.Allowed {
			failing = append(failing, names[i])
		}
	}
	return failing
}

func main() {
	checks := policy.DefaultChecks()
	evaluator, err := policy.NewEvaluator(checks, nil)
	if err != nil {
		panic(err)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.Scan() {
		var asked review
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := encoder.Encode(refused(evaluator, checks, asked)); err != nil {
			panic(err)
		}
		out.Flush()
	}
	if err := in.Err(); err != nil {
		panic(err)
	}
}
