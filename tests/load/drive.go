package main

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// plan says when calls end.
type plan struct {
	requests int       // in all; 0 = no limit
	until    time.Time // no call begins after it; zero = no limit
	deadline time.Time // calls are cut
}

// counts are what one caller, or all of them, saw.
type counts struct {
	done      int // calls that were answered as they should be
	errors    map[string]int
	statuses  map[int]int
	retries   int
	latencies []uint32 // of the answered ones, microseconds
}

// Report is what is printed. Latencies are those of calls that were answered as they should be.
type Report struct {
	Requests    int            `json:"requests"`
	Done        int            `json:"done"`
	Errors      map[string]int `json:"errors"`
	Statuses    map[string]int `json:"statuses"`
	Retries     int            `json:"retries"`
	Connections int64          `json:"connections"`
	Seconds     float64        `json:"seconds"`
	RPS         float64        `json:"rps"`
	LatencyUs   Latency        `json:"latency_us"`
}

// Latency holds quantiles in microseconds.
type Latency struct {
	Min uint32 `json:"min"`
	P50 uint32 `json:"p50"`
	P90 uint32 `json:"p90"`
	P99 uint32 `json:"p99"`
	Max uint32 `json:"max"`
}

// drive lets callers send reviews in turn until the plan says stop.
func drive(client *client, reviews []review, o options, p plan) counts {
	ctx, cancel := context.WithDeadline(context.Background(), p.deadline)
	defer cancel()
	var taken atomic.Int64
	more := func() (int, bool) {
		turn := int(taken.Add(1)) - 1
		return turn, (p.requests == 0 || turn < p.requests) && (p.until.IsZero() || time.Now().Before(p.until)) && ctx.Err() == nil
	}
	all := make([]counts, o.callers)
	var group sync.WaitGroup
	for number := range all {
		group.Add(1)
		go func() {
			defer group.Done()
			all[number] = newCaller(client, reviews, o, uint64(number)).run(ctx, more)
		}()
	}
	group.Wait()
	return sum(all)
}

// caller sends one call after the other.
type caller struct {
	client  *client
	reviews []review // its own copies where uids change
	seen    []bool   // whether the answer to a review has been decoded whole
	check   func([]byte, review, bool) string
	random  *rand.Rand
	fresh   bool
	counts  counts
}

func newCaller(client *client, reviews []review, o options, number uint64) *caller {
	own := slices.Clone(reviews)
	if o.freshUID {
		for i := range own {
			own[i] = own[i].copied()
		}
	}
	return &caller{
		client:  client,
		reviews: own,
		seen:    make([]bool, len(own)),
		check:   levels[o.check],
		random:  rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), number)),
		fresh:   o.freshUID,
		counts:  counts{errors: map[string]int{}, statuses: map[int]int{}},
	}
}

func (c *caller) run(ctx context.Context, more func() (int, bool)) counts {
	for turn, ok := more(); ok; turn, ok = more() {
		i := turn % len(c.reviews)
		if c.fresh {
			c.reviews[i].renew(c.random)
		}
		if !c.call(ctx, i) && c.fresh {
			// The transport may still be sending a body whose call has failed.
			c.reviews[i] = c.reviews[i].copied()
		}
	}
	return c.counts
}

// call sends the review i; whether it was answered as it should be.
func (c *caller) call(ctx context.Context, i int) bool {
	start := time.Now()
	got, err := c.client.post(ctx, c.reviews[i].body)
	took := time.Since(start)
	c.counts.retries += got.retries
	kind := ""
	switch {
	case err != nil:
		kind = kindOf(err)
	case got.status != http.StatusOK:
		c.counts.statuses[got.status]++
		kind = "status"
	default:
		c.counts.statuses[got.status]++
		kind = c.check(got.body, c.reviews[i], !c.seen[i])
		c.seen[i] = true
	}
	if kind != "" {
		c.counts.errors[kind]++
		return false
	}
	c.counts.done++
	c.counts.latencies = append(c.counts.latencies, uint32(min(took.Microseconds(), 1<<32-1)))
	return true
}

func sum(all []counts) counts {
	total := counts{errors: map[string]int{}, statuses: map[int]int{}}
	for _, one := range all {
		total.done += one.done
		total.retries += one.retries
		total.latencies = append(total.latencies, one.latencies...)
		for kind, count := range one.errors {
			total.errors[kind] += count
		}
		for status, count := range one.statuses {
			total.statuses[status] += count
		}
	}
	return total
}

func (c counts) report(took time.Duration) Report {
	slices.Sort(c.latencies)
	requests := c.done
	for count := range maps.Values(c.errors) {
		requests += count
	}
	statuses := map[string]int{}
	for status, count := range c.statuses {
		statuses[strconv.Itoa(status)] = count
	}
	return Report{
		Requests:  requests,
		Done:      c.done,
		Errors:    c.errors,
		Statuses:  statuses,
		Retries:   c.retries,
		Seconds:   took.Seconds(),
		RPS:       float64(c.done) / took.Seconds(),
		LatencyUs: Latency{c.quantile(0), c.quantile(0.5), c.quantile(0.9), c.quantile(0.99), c.quantile(1)},
	}
}

// quantile is the latency that the share q of the sorted ones does not exceed.
func (c counts) quantile(q float64) uint32 {
	if len(c.latencies) == 0 {
		return 0
	}
	return c.latencies[max(0, int(math.Ceil(q*float64(len(c.latencies))))-1)]
}
