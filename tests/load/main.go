// Load sends AdmissionReviews as kube-apiserver's webhook client does and prints one JSON object about the answers.
//
// HTTP/1.1 over TLS with keep-alive, an unrestricted connection pool with 25 idle connections for 90 s, POST path?timeout=10s,
// Accept-Encoding gzip. With -retry a 503 (429, any 5xx) that names Retry-After is sent again inside the call, at most 10
// times, as client-go does. With -wait it prints "ready" after the warm-up and starts when it reads a line, so that its
// parent can look at the server's clock exactly before and after.
//
// Only loopback addresses are accepted, or with -allow-local those of this network namespace: it is made to put load on a
// server, which nobody wants to do to somebody else's. Exit status 2: wrong use; the errors of calls are in the JSON.
//
// Sources: k8s.io/apiserver/pkg/util/webhook/client.go; k8s.io/client-go/rest/{request,with_retry}.go;
// k8s.io/apimachinery/pkg/util/net/http.go (SetTransportDefaults).
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// bodies collects the values of a flag that may be given several times.
type bodies []string

func (b *bodies) String() string         { return strings.Join(*b, ",") }
func (b *bodies) Set(value string) error { *b = append(*b, value); return nil }

// options are the flags.
type options struct {
	url        string
	caFile     string
	serverName string
	bodyFiles  bodies
	callers    int
	requests   int
	duration   time.Duration
	limit      time.Duration
	timeout    time.Duration
	warmUp     int
	retry      bool
	freshUID   bool
	check      string
	wait       bool
	allowLocal bool
}

func parse(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	flags.StringVar(&o.url, "url", "", "https://ADDRESS:PORT/PATH; ?timeout= is added")
	flags.StringVar(&o.caFile, "ca", "", "file with the CA that signed the server's certificate")
	flags.StringVar(&o.serverName, "server-name", "", "name that the certificate must bear (default: the URL's host)")
	flags.Var(&o.bodyFiles, "body", "file with an AdmissionReview; several take turns")
	flags.IntVar(&o.callers, "callers", 4, "calls in flight at a time")
	flags.IntVar(&o.requests, "requests", 0, "calls in all; 0 = as many as -duration allows")
	flags.DurationVar(&o.duration, "duration", 0, "how long calls are started; 0 = until -requests are done")
	flags.DurationVar(&o.limit, "limit", 5*time.Minute, "when everything ends, whatever is left")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Second, "of one call; sent as ?timeout= in whole seconds")
	flags.IntVar(&o.warmUp, "warm-up", 0, "calls before those that count")
	flags.BoolVar(&o.retry, "retry", false, "send again what is answered with 429 or 5xx and Retry-After")
	flags.BoolVar(&o.freshUID, "fresh-uid", false, "give each call a uid of its own")
	flags.StringVar(&o.check, "check", "allowed", "what an answer must be: any (status 200), uid, allowed, patch")
	flags.BoolVar(&o.wait, "wait", false, `after the warm-up print "ready" and wait for a line`)
	flags.BoolVar(&o.allowLocal, "allow-local", false, "accept every address of this network namespace")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	switch {
	case o.url == "" || len(o.bodyFiles) == 0:
		return o, fmt.Errorf("-url and -body are needed")
	case o.requests <= 0 && o.duration <= 0:
		return o, fmt.Errorf("give -requests or -duration")
	case o.callers < 1 || o.timeout <= 0 || o.limit <= 0:
		return o, fmt.Errorf("-callers, -timeout and -limit must be above zero")
	case levels[o.check] == nil:
		return o, fmt.Errorf("-check %s: expected any, uid, allowed or patch", o.check)
	}
	return o, nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "load: %v\n", err)
		os.Exit(2)
	}
}

func run(arguments []string) error {
	o, err := parse(arguments)
	if err != nil {
		return err
	}
	client, err := newClient(o)
	if err != nil {
		return err
	}
	reviews, err := readReviews(o.bodyFiles)
	if err != nil {
		return err
	}
	deadline := time.Now().Add(o.limit)
	if o.warmUp > 0 {
		warm := drive(client, reviews, o, plan{requests: o.warmUp, deadline: deadline})
		if o.wait && warm.done == 0 {
			return fmt.Errorf("no call of the warm-up succeeded: %v", warm.errors)
		}
	}
	// Go's runtime need not compete with the server while the calls run.
	runtime.GC()
	if o.wait {
		fmt.Println("ready")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return fmt.Errorf("waiting for a line: %w", err)
		}
	}
	opened := client.opened.Load()
	until := deadline
	if o.duration > 0 && time.Now().Add(o.duration).Before(until) {
		until = time.Now().Add(o.duration)
	}
	start := time.Now()
	counts := drive(client, reviews, o, plan{requests: o.requests, until: until, deadline: deadline})
	report := counts.report(time.Since(start))
	report.Connections = client.opened.Load() - opened
	return json.NewEncoder(os.Stdout).Encode(report)
}
