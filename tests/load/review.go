package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
)

// review is an AdmissionReview as it is sent.
type review struct {
	body []byte
	uid  string // of its request
	at   int    // where the uid stands in body
}

// readReviews reads the files. The uid of a request is found once, so that another can be put in its place cheaply.
func readReviews(files []string) ([]review, error) {
	var reviews []review
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("-body: %w", err)
		}
		var sent struct{ Request struct{ UID string } }
		if err := json.Unmarshal(body, &sent); err != nil || sent.Request.UID == "" {
			return nil, fmt.Errorf("-body %s: no AdmissionReview whose request has a uid (%v)", file, err)
		}
		start := bytes.Index(body, []byte(`"request"`))
		at := bytes.Index(body[start:], []byte(`"`+sent.Request.UID+`"`))
		if at < 0 {
			return nil, fmt.Errorf("-body %s: the uid is written with escapes", file)
		}
		reviews = append(reviews, review{body, sent.Request.UID, start + at + 1})
	}
	return reviews, nil
}

// copied is a review whose body nobody else has.
func (r review) copied() review {
	r.body = bytes.Clone(r.body)
	return r
}

// renew puts another uid of the same length in its place.
func (r *review) renew(random *rand.Rand) {
	const digits = "0123456789abcdef"
	place := r.body[r.at : r.at+len(r.uid)]
	for i := range place {
		if place[i] != '-' {
			place[i] = digits[random.IntN(len(digits))]
		}
	}
	r.uid = string(place)
}

// levels are the checks an answer must pass, by the option's name; each gives the kind of error, "" for none.
//
// An answer is decoded whole the first time that a caller gets one for a review, afterwards it is only searched: this
// program must not need more time than the server.
var levels = map[string]func(text []byte, sent review, whole bool) string{
	"any": func([]byte, review, bool) string { return "" },
	"uid": func(text []byte, sent review, whole bool) string { return wrong(text, sent, whole, nil) },
	"allowed": func(text []byte, sent review, whole bool) string {
		return wrong(text, sent, whole, marks(`"allowed":`, `true`))
	},
	"patch": func(text []byte, sent review, whole bool) string {
		return wrong(text, sent, whole, marks(`"patchType":`, `"JSONPatch"`))
	},
}

// marks are a key and its value as servers write them, with a blank or without.
func marks(key, value string) [][]byte {
	return [][]byte{[]byte(key + value), []byte(key + " " + value)}
}

// lacks tells whether none of marks is there, if there must be one.
func lacks(text []byte, marks [][]byte) bool {
	for _, mark := range marks {
		if bytes.Contains(text, mark) {
			return false
		}
	}
	return len(marks) > 0
}

func wrong(text []byte, sent review, whole bool, marks [][]byte) string {
	if whole {
		return wrongWhole(text, sent, marks)
	}
	if !bytes.Contains(text, []byte(`"`+sent.uid+`"`)) {
		return "uid"
	}
	if lacks(text, marks) {
		return "decision"
	}
	return ""
}

func wrongWhole(text []byte, sent review, marks [][]byte) string {
	var got struct {
		APIVersion, Kind string
		Response         struct {
			UID       string
			Allowed   bool
			PatchType string
			Patch     string
		}
	}
	if json.Unmarshal(text, &got) != nil || got.Kind != "AdmissionReview" || got.APIVersion == "" {
		return "decode"
	}
	if got.Response.UID != sent.uid {
		return "uid"
	}
	if lacks(text, marks) {
		return "decision"
	}
	if got.Response.PatchType != "" {
		patch, err := base64.StdEncoding.DecodeString(got.Response.Patch)
		if err != nil || !json.Valid(patch) {
			return "decode"
		}
	}
	return ""
}
