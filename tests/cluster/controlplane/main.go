// Command controlplane is every program of a small Kubernetes cluster in one binary, which costs one link
// instead of seven: controlplane PROGRAM ARGS.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func run(command *cobra.Command) { os.Exit(cli.Run(command)) }

var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() { run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() { run(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() { run(kubelet.NewKubeletCommand(context.Background())) },
	"kube-proxy":              func() { run(proxy.NewProxyCommand()) },
	"kubectl":                 func() { run(kubectl.NewDefaultKubectlCommand()) },
}

func main() {
	if len(os.Args) > 1 {
		if program, known := programs[os.Args[1]]; known {
			os.Args = os.Args[1:] // each program reads os.Args as if it had been called by its own name
			program()
			return
		}
	}
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintln(os.Stderr, "usage: controlplane "+strings.Join(names, "|")+" ARGS")
	os.Exit(2)
}
