// Says what the Go API machinery makes of quantities. Reads one JSON object a line on standard input, answers one a line:
//
//	{"parse": [text, ...]}        {"canonical": [text or null when refused, ...], "rank": [place in ascending order, ...]}
//	{"json": [value, ...]}        {"canonical": [...]}           each value decoded as an amount in requests
//	{"sum": [[text, text], ...]}  {"canonical": [sum, difference, sum, difference, ...]}
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"k8s.io/apimachinery/pkg/api/resource"
)

type question struct {
	Parse []string          `json:"parse"`
	JSON  []json.RawMessage `json:"json"`
	Sum   [][2]string       `json:"sum"`
}

type answer struct {
	Canonical []*string `json:"canonical"`
	Rank      []int     `json:"rank,omitempty"`
}

func canonical(quantity resource.Quantity) *string {
	number, suffix := quantity.CanonicalizeBytes(nil)
	text := string(number) + string(suffix)
	return &text
}

// parse ranks what it accepts; equal amounts have equal ranks, and what is refused has rank 0.
func parse(texts []string) answer {
	result := answer{Canonical: make([]*string, len(texts)), Rank: make([]int, len(texts))}
	quantities := make([]resource.Quantity, len(texts))
	var accepted []int
	for index, text := range texts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			continue
		}
		quantities[index] = quantity
		result.Canonical[index] = canonical(quantity)
		accepted = append(accepted, index)
	}
	sort.SliceStable(accepted, func(left, right int) bool {
		return quantities[accepted[left]].Cmp(quantities[accepted[right]]) < 0
	})
	rank := 0
	for place, index := range accepted {
		if place == 0 || quantities[accepted[place-1]].Cmp(quantities[index]) != 0 {
			rank++
		}
		result.Rank[index] = rank
	}
	return result
}

func decode(values []json.RawMessage) answer {
	result := answer{Canonical: make([]*string, len(values))}
	for index, value := range values {
		var amounts map[string]resource.Quantity
		if err := json.Unmarshal([]byte(fmt.Sprintf(`{"cpu":%s}`, value)), &amounts); err == nil {
			result.Canonical[index] = canonical(amounts["cpu"])
		}
	}
	return result
}

func sum(pairs [][2]string) answer {
	result := answer{}
	for _, pair := range pairs {
		left, right := resource.MustParse(pair[0]), resource.MustParse(pair[1])
		total, rest := left.DeepCopy(), left.DeepCopy()
		total.Add(right)
		rest.Sub(right)
		result.Canonical = append(result.Canonical, canonical(total), canonical(rest))
	}
	return result
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			panic(err)
		}
		result := parse(asked.Parse)
		if asked.JSON != nil {
			result = decode(asked.JSON)
		} else if asked.Sum != nil {
			result = sum(asked.Sum)
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
