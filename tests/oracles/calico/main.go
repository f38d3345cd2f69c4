// Says what Calico makes of the addresses that are written on a pod. Reads one JSON object a line on standard input:
//
//	{"parse": annotation}                                  the addresses that its CNI plugin reads, or {"error": text}
//	{"assign": address, "handle": text, "node": name}      assigned in the cluster of $KUBECONFIG as by the CNI plugin
//	{"release": handle}                                    as at the end of a pod
//
// and answers one a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"time"
	_ "unsafe" // for go:linkname

	_ "github.com/projectcalico/calico/cni-plugin/pkg/k8s" // the parser of the annotation
	"github.com/projectcalico/calico/libcalico-go/lib/apiconfig"
	"github.com/projectcalico/calico/libcalico-go/lib/clientv3"
	"github.com/projectcalico/calico/libcalico-go/lib/ipam"
	cnet "github.com/projectcalico/calico/libcalico-go/lib/net"
	"github.com/sirupsen/logrus"
)

const annotation = "cni.projectcalico.org/ipAddrs"

// What CmdAddK8s hands the annotation to.
//
//go:linkname validateAndExtractIPs github.com/projectcalico/calico/cni-plugin/pkg/k8s.validateAndExtractIPs
func validateAndExtractIPs(text string, annotation string, logger *logrus.Entry) ([]net.IP, error)

type question struct {
	Parse   *string `json:"parse"`
	Assign  string  `json:"assign"`
	Handle  string  `json:"handle"`
	Node    string  `json:"node"`
	Release string  `json:"release"`
}

type answer struct {
	Error     string   `json:"error,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
}

func parse(text string) (answer, error) {
	found, err := validateAndExtractIPs(text, annotation, logrus.NewEntry(logrus.StandardLogger()))
	result := answer{}
	for _, ip := range found {
		result.Addresses = append(result.Addresses, ip.String())
	}
	return result, err
}

func assign(client clientv3.Interface, asked question) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if asked.Release != "" {
		return answer{}, client.IPAM().ReleaseByHandle(ctx, asked.Release)
	}
	ip := net.ParseIP(asked.Assign)
	if ip == nil {
		return answer{}, fmt.Errorf("no address: %q", asked.Assign)
	}
	attributes := map[string]string{ipam.AttributeNode: asked.Node}
	arguments := ipam.AssignIPArgs{IP: cnet.IP{IP: ip}, HandleID: &asked.Handle, Hostname: asked.Node, Attrs: attributes}
	return answer{Addresses: []string{ip.String()}}, client.IPAM().AssignIP(ctx, arguments)
}

func connect() (clientv3.Interface, error) {
	config := apiconfig.NewCalicoAPIConfig()
	config.Spec.DatastoreType = apiconfig.Kubernetes
	config.Spec.Kubeconfig = os.Getenv("KUBECONFIG")
	return clientv3.New(*config)
}

func main() {
	logrus.SetOutput(io.Discard)
	var client clientv3.Interface
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked question
		var result answer
		err := json.Unmarshal(lines.Bytes(), &asked)
		if err == nil && asked.Parse != nil {
			result, err = parse(*asked.Parse)
		} else if err == nil {
			if client == nil {
				client, err = connect()
			}
			if err == nil {
				result, err = assign(client, asked)
			}
		}
		if err != nil {
			result = answer{Error: err.Error()}
		}
		text, _ := json.Marshal(result)
		fmt.Println(string(text))
	}
}
