// Peer is an admission webhook as a Go team would write it with controller-runtime: the rules that the benchmark asks of Gatehouse,
// with the same answers, made as fast as the library's idioms allow. It is here so that the comparison can be contested.
//
// Typed objects, admission.Decoder, PatchResponseFromRaw; old objects are decoded only where they decide, nothing is logged,
// facts are maps of the few fields that count (cheaper than a cache's Get, which copies). With -patches=own the operations are
// written by hand (admission.Patched) instead of found by comparing two documents, which is faster.
//
// Facts come from the files that `gatehouse serve --local` reads, or with -kubeconfig from controller-runtime's own cache.
// One JSON line with its address says that it listens. With -follow it serves nothing, and tells when its cache is synced.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

type options struct {
	folder     string // with cluster files
	rules      string // file with the entry to inject and the limits
	kubeconfig string
	address    string
	certDir    string
	patches    string
	follow     string
	each       int64
}

func main() {
	var o options
	flag.StringVar(&o.folder, "local", "", "folder with the cluster's objects as JSON lists")
	flag.StringVar(&o.rules, "rules", "", "JSON file with what is injected and the limits")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "take facts from this cluster instead")
	flag.StringVar(&o.address, "address", "127.0.0.1:0", "where to listen")
	flag.StringVar(&o.certDir, "cert-dir", "", "folder with tls.crt and tls.key")
	flag.StringVar(&o.patches, "patches", "compared", "compared: PatchResponseFromRaw; own: operations written by hand")
	flag.StringVar(&o.follow, "follow", "", "only follow nodes or pods of -kubeconfig")
	flag.Int64Var(&o.each, "each", 200, "of how many followed changes it tells")
	flag.Parse()
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "peer: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.follow != "" {
		return follow(ctx, o.kubeconfig, o.follow, o.each)
	}
	rules, err := readRules(o.rules)
	if err != nil {
		return err
	}
	var known facts
	if o.kubeconfig != "" {
		known, err = clusterFacts(ctx, o.kubeconfig)
	} else {
		known, err = readFacts(o.folder)
	}
	if err != nil {
		return err
	}
	host, port, err := free(o.address)
	if err != nil {
		return err
	}
	folder, err := filepath.Abs(o.certDir)
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: folder})
	each := handler{facts: known, rules: rules, decoder: admission.NewDecoder(scheme), own: o.patches == "own"}
	paths := map[string]admission.HandlerFunc{
		"/node-taint": each.nodeTaint,
		"/endpoint":   each.endpoint,
		"/pod-status": each.podStatus,
		"/mutate":     each.inject,
		"/validate":   each.validate,
	}
	if o.kubeconfig != "" {
		if each.pool, err = newPool(o.kubeconfig, rules.Pool.Name, rules.Pool.Prefix); err != nil {
			return err
		}
		paths["/pod-ip"] = each.podIP
	}
	for path, handle := range paths {
		server.Register(path, &admission.Webhook{Handler: handle})
	}
	go announce(server, host, port)
	return server.Start(ctx)
}

// announce tells where the server listens once it does.
func announce(server webhook.Server, host string, port int) {
	for server.StartedChecker()(nil) != nil {
		time.Sleep(5 * time.Millisecond)
	}
	line, _ := json.Marshal(map[string]string{"webhook": fmt.Sprintf("%s:%d", host, port)})
	fmt.Println(string(line))
}

// free is the address with a port that nobody has: webhook.Server takes 0 for its default.
func free(address string) (string, int, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", 0, err
	}
	defer listener.Close()
	taken := listener.Addr().(*net.TCPAddr)
	return taken.IP.String(), taken.Port, nil
}
