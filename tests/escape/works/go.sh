# A module is built, tested and run; its runtime uses threads, timers and the poller.
set -e
export GOFLAGS=-mod=mod GOPROXY=off GOCACHE=$HOME/go-cache GOPATH=$HOME/go GOTOOLCHAIN=local
cat >go.mod <<'M'
module made.invalid/made
go 1.19
M
cat >main.go <<'M'
package main

import (
	"fmt"
	"net"
	"os/exec"
	"sync"
	"time"
)

func main() {
	var group sync.WaitGroup
	for i := 0; i < 100; i++ {
		group.Add(1)
		go func() { time.Sleep(time.Millisecond); group.Done() }()
	}
	group.Wait()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { c, _ := listener.Accept(); c.Write([]byte("x")); c.Close() }()
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	c.Read(make([]byte, 1))
	out, err := exec.Command("echo", "ran").Output()
	if err != nil {
		panic(err)
	}
	fmt.Print(string(out))
}
M
go build -o made . && [ "$(./made)" = ran ]
echo works
