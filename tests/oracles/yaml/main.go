// Reads texts on standard input, one JSON string a line, and answers what the Go API machinery makes of each:
//
//	{"strict": ..., "lenient": ...}   each {"json": value} or {"error": text}
//
// strict refuses duplicate keys, as the API server does under fieldValidation=Strict; lenient is what kubectl does.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

type reading struct {
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

func read(text []byte, convert func([]byte) ([]byte, error)) (result reading) {
	defer func() {
		if fault := recover(); fault != nil {
			result = reading{Error: fmt.Sprint("panic: ", fault)}
		}
	}()
	converted, err := convert(text)
	if err != nil {
		return reading{Error: err.Error()}
	}
	return reading{JSON: converted}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.Scan() {
		var text string
		if err := json.Unmarshal(in.Bytes(), &text); err != nil {
			panic(err)
		}
		answer := map[string]reading{
			"strict":  read([]byte(text), yaml.YAMLToJSONStrict),
			"lenient": read([]byte(text), yaml.YAMLToJSON),
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
