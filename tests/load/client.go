package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// maxRetries is client-go's: how often a call is sent again because the server asked for it.
const maxRetries = 10

// maxAnswer is up to where room for an answer is made before it comes.
const maxAnswer = 16 << 20

// client posts bodies to one URL.
type client struct {
	http    *http.Client
	url     string
	timeout time.Duration
	retry   bool
	opened  *atomic.Int64
}

// answer is what came back of one call.
type answer struct {
	status  int
	body    []byte
	retries int
}

func newClient(o options) (*client, error) {
	target, err := url.Parse(o.url)
	if err != nil || target.Scheme != "https" || target.Port() == "" {
		return nil, fmt.Errorf("-url %s: expected https://ADDRESS:PORT/PATH", o.url)
	}
	address, err := allowed(target.Hostname(), o.allowLocal)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(o.caFile)
	if err != nil {
		return nil, fmt.Errorf("-ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("-ca %s: no certificate in it", o.caFile)
	}
	name := o.serverName
	if name == "" {
		name = target.Hostname()
	}
	// The API server's figure is in whole seconds, rounded up.
	seconds := int((o.timeout + time.Second - 1) / time.Second)
	query := target.Query()
	query.Set("timeout", strconv.Itoa(seconds)+"s")
	target.RawQuery = query.Encode()

	opened := new(atomic.Int64)
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	place := net.JoinHostPort(address.String(), target.Port())
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			connection, err := dialer.DialContext(ctx, network, place)
			if err == nil {
				opened.Add(1)
			}
			return connection, err
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: name, NextProtos: []string{"http/1.1"}},
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 25,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // asked for below: whether an answer was compressed is for us to see
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	own := &http.Client{Transport: transport, CheckRedirect: stay}
	return &client{own, target.String(), o.timeout, o.retry, opened}, nil
}

// allowed is the address of host when load may be put on it.
func allowed(host string, local bool) (netip.Addr, error) {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return address, fmt.Errorf("%s is refused: only literal addresses are taken, since a name may lead anywhere", host)
	}
	if address.IsLoopback() {
		return address, nil
	}
	if !local {
		return address, fmt.Errorf("%s is refused: load is for loopback addresses only (-allow-local: for those of this network namespace too)", host)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return address, err
	}
	for _, candidate := range own {
		if prefix, err := netip.ParsePrefix(candidate.String()); err == nil && prefix.Addr() == address.Unmap() {
			return address, nil
		}
	}
	return address, fmt.Errorf("%s is refused: it is no address of this network namespace", host)
}

// post sends body until there is an answer that does not ask for a retry, all within the call's timeout.
func (c *client) post(parent context.Context, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(parent, c.timeout)
	defer cancel()
	for retries := 0; ; retries++ {
		status, wait, text, err := c.once(ctx, body)
		if err != nil {
			return answer{retries: retries}, err
		}
		if !c.retry || wait < 0 || retries == maxRetries {
			return answer{status, text, retries}, nil
		}
		select {
		case <-ctx.Done():
			return answer{status: status, retries: retries}, ctx.Err()
		case <-time.After(wait):
		}
	}
}

// once sends body. wait is below zero unless the server asks for a retry.
func (c *client) once(ctx context.Context, body []byte) (status int, wait time.Duration, text []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, -1, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("Accept-Encoding", "gzip")
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, -1, nil, err
	}
	defer response.Body.Close()
	var reader io.Reader = response.Body
	if response.Header.Get("Content-Encoding") == "gzip" {
		if reader, err = gzip.NewReader(response.Body); err != nil {
			return response.StatusCode, -1, nil, err
		}
	}
	room := max(0, min(response.ContentLength, maxAnswer)) + 512
	buffer := bytes.NewBuffer(make([]byte, 0, room))
	if _, err = buffer.ReadFrom(reader); err != nil {
		return response.StatusCode, -1, nil, err
	}
	text = buffer.Bytes()
	return response.StatusCode, retryAfter(response), text, nil
}

// retryAfter is how long the server asks to wait; below zero when it does not ask.
func retryAfter(response *http.Response) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode/100 != 5 {
		return -1
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return -1
	}
	return time.Duration(seconds) * time.Second
}

// kindOf names the error of a call.
func kindOf(err error) string {
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cut"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.As(err, &record), errors.As(err, &certificate), errors.As(err, &alert):
		return "tls"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed"
	case strings.Contains(err.Error(), "TLS handshake timeout"):
		return "handshake-timeout"
	case strings.Contains(err.Error(), "server closed idle connection"):
		return "closed-idle"
	}
	return "other"
}
