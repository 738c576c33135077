package broker

import (
	"io"
	"os"
	"sync"
	"syscall"
)

// listener is the inherited socket. It blocks: package net would cost each
// broker more than the few threads do.
type listener int

func (l listener) accept() (*conn, error) {
	for {
		fd, _, err := syscall.Accept4(int(l), syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, os.NewSyscallError("accept4", err)
		}
		return &conn{fd: fd}, nil
	}
}

// conn is one connection, with blocking reads and writes.
type conn struct {
	fd int
	// readers are those who may still be in a read.
	readers sync.WaitGroup
}

// close ends the connection, once nobody reads from it any more: the number of
// its descriptor may be another's at once.
func (c *conn) close() {
	syscall.Shutdown(c.fd, syscall.SHUT_RDWR)
	c.readers.Wait()
	syscall.Close(c.fd)
}

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(c.fd, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Write implements io.Writer. A peer that has gone is an error, no signal.
func (c *conn) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n, err := syscall.SendmsgN(c.fd, p[written:], nil, nil, syscall.MSG_NOSIGNAL)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return written, os.NewSyscallError("sendmsg", err)
		}
		written += n
	}
	return written, nil
}

// readHead reads the first bytes of a request, and the descriptors that come
// with them.
func (c *conn) readHead(head []byte) (n int, fds []int, err error) {
	oob := make([]byte, syscall.CmsgSpace(4*4))
	for {
		n, oobn, _, _, err := syscall.Recvmsg(c.fd, head, oob, syscall.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return 0, nil, os.NewSyscallError("recvmsg", err)
		}
		msgs, err := syscall.ParseSocketControlMessage(oob[:oobn])
		for i := range msgs {
			if got, perr := syscall.ParseUnixRights(&msgs[i]); perr == nil {
				fds = append(fds, got...)
			}
		}
		if n == 0 && err == nil {
			err = io.EOF
		}
		return n, fds, err
	}
}
