// Command plugin is the extension of the tests of package extension. The name
// of its file says how it behaves, and for "good" the argument vector of an
// exec what it does.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tegwick/sand-boxer/sdk"
	"github.com/tegwick/sand-boxer/sdk/wire"
)

func main() {
	name := strings.TrimPrefix(filepath.Base(os.Args[0]), "sandboxer-ext-")
	switch name {
	case "garbage":
		fmt.Println("hello, I am a program")
		select {}
	case "whisper": // never ends its line
		fmt.Print("1|1|unix")
		select {}
	case "exits":
		fmt.Fprintln(os.Stderr, "cannot find my config")
		os.Exit(3)
	case "panics":
		panic("no luck today")
	case "hang":
		select {}
	case "wrongmajor":
		serveOther(7)
	case "netrpc":
		fmt.Println("1|1|unix|/tmp/x|netrpc")
		select {}
	case "elsewhere":
		fmt.Println("1|1|unix|/tmp/elsewhere.sock|grpc")
		select {}
	case "mute": // takes the connection and says nothing
		listen(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	case "notgrpc":
		listen(func(c net.Conn) { _, _ = c.Write([]byte("220 smtp ready\r\n")); _ = c.Close() })
	case "othergrpc": // gRPC, and none of our services
		serveOther(wire.ProtocolMajor)
	case "misnamed":
		name = "somebody-else"
	case "loggers":
		for _, line := range []string{`{"@message": 1}`, `{"@level": []}`, `{"@timestamp": {}}`, `{"@timestamp": "x"}`, `null`, `{`, "\xff\x1b[2J"} {
			fmt.Fprintln(os.Stderr, line)
		}
		fmt.Fprint(os.Stderr, strings.Repeat("x", 1<<20), "\n")
	}
	wire.Serve(&backend{name: name})
}

func listen(serve func(net.Conn)) {
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("1|1|unix|%s|grpc\n", path)
	for {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(c)
	}
}

type nothing struct {
	goplugin.NetRPCUnsupportedPlugin
	goplugin.GRPCPlugin
}

func (nothing) GRPCServer(*goplugin.GRPCBroker, *grpc.Server) error { return nil }

func serveOther(major uint) {
	handshake := wire.PluginHandshake()
	handshake.ProtocolVersion = major
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         goplugin.PluginSet{"x": nothing{}},
		GRPCServer:      goplugin.DefaultGRPCServer,
	})
	os.Exit(0)
}

type backend struct{ name string }

func (b *backend) Info() sdk.Info { return sdk.Info{Name: b.name, Version: "1.0.0"} }

func (b *backend) Create(context.Context, sdk.CreateRequest, sdk.Progress) (sdk.Created, error) {
	return sdk.Created{Execution: sdk.ExecutionOwnerMediated}, nil
}

func (b *backend) Destroy(context.Context, sdk.Ref) (sdk.Destroyed, error) {
	return sdk.Destroyed{}, nil
}

func (b *backend) List(context.Context, string) ([]sdk.Found, error) { return nil, nil }

func (b *backend) Health(context.Context) (sdk.Health, error) {
	return sdk.Health{Usable: true, Unavailable: []sdk.Capability{sdk.CapExec}}, nil
}

func (b *backend) Exec(ctx context.Context, req sdk.ExecRequest, out sdk.ExecOutput) (sdk.ExecResult, error) {
	var text string
	switch req.Argv[0] {
	case "crash":
		panic("crashed as asked")
	case "exit":
		os.Exit(0)
	case "hang":
		fmt.Fprint(out.Stdout, "started")
		<-ctx.Done()
		return sdk.ExecResult{Outcome: sdk.OutcomeCanceled, StdoutBytes: 7}, nil
	case "deaf": // does not heed its context
		fmt.Fprint(out.Stdout, "started")
		time.Sleep(time.Hour)
	case "env":
		env := os.Environ()
		slices.Sort(env)
		text = strings.Join(env, "\n")
	case "where":
		stdin, _ := os.Readlink("/proc/self/fd/0")
		cwd, _ := os.Getwd()
		exe, _ := os.Executable()
		text = fmt.Sprintf("stdin %s\ncwd %s\nexe %s\nleader %v\n", stdin, cwd, exe, syscall.Getpgrp() == os.Getpid())
	case "print":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
	case "child", "escaped-child": // holds our real stderr, and reports its pid
		fd, err := syscall.Dup(2)
		if err != nil {
			return sdk.ExecResult{}, err
		}
		stderr := os.NewFile(uintptr(fd), "stderr")
		defer stderr.Close()
		cmd := exec.Command("/bin/sleep", "600")
		cmd.Stderr = stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: req.Argv[0] == "escaped-child"}
		if err := cmd.Start(); err != nil {
			return sdk.ExecResult{}, err
		}
		text = fmt.Sprint(cmd.Process.Pid)
	case "pid":
		text = fmt.Sprint(os.Getpid())
	case "true":
	}
	n, err := io.WriteString(out.Stdout, text)
	return sdk.ExecResult{Outcome: sdk.OutcomeExited, StdoutBytes: int64(n)}, err
}
