// Command pause holds a pod's namespaces open until it is told to end.
package main

import (
	"context"
	"os/signal"
	"syscall"
)

func main() {
	ending, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()
	<-ending.Done()
}
