//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A frame is what parent and worker send each other: the request's number and two stamps.
const frameBytes = 24

// remote is a load in a worker process, behind two pipes and shared memory.
type remote struct {
	m        *matrices
	memory   []byte
	cmd      *exec.Cmd
	to, from int // blocking descriptors: the runtime's poller would add its own delays
	number   uint64
}

// openWorker starts a worker process and waits until it is ready.
func openWorker(rows int) (load, error) {
	shared, err := os.CreateTemp("", "completion-*")
	if err != nil {
		return nil, err
	}
	defer shared.Close()
	defer os.Remove(shared.Name())
	if err := shared.Truncate(matrixBytes); err != nil {
		return nil, err
	}
	r := &remote{}
	if r.memory, err = mapShared(shared); err != nil {
		return nil, err
	}
	r.m = newMatrices(r.memory)
	r.m.rows = rows
	r.m.multiplyHeld()
	r.m.keep()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var down, up [2]int
	if err := errors.Join(syscall.Pipe(down[:]), syscall.Pipe(up[:])); err != nil {
		return nil, err
	}
	for _, fd := range []int{down[1], up[0]} {
		syscall.CloseOnExec(fd)
	}
	theirs := []*os.File{shared, os.NewFile(uintptr(down[0]), "requests"), os.NewFile(uintptr(up[1]), "answers")}
	r.cmd = exec.Command(self, "worker", "--rows", strconv.Itoa(rows))
	r.cmd.ExtraFiles = theirs
	r.cmd.Stderr = os.Stderr
	err = r.cmd.Start()
	theirs[1].Close()
	theirs[2].Close()
	r.to, r.from = down[1], up[0]
	if err != nil {
		return nil, err
	}
	if _, _, _, err := r.do(); err != nil {
		return nil, errors.Join(fmt.Errorf("the worker does not start: %w", err), r.close())
	}
	return r, nil
}

func mapShared(f *os.File) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, matrixBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// do waits for the answer on a thread of its own.
func (r *remote) do() (start, end time.Duration, right bool, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r.m.spoil()
	r.number++
	var frame [frameBytes]byte
	binary.NativeEndian.PutUint64(frame[:], r.number)
	if _, err := syscall.Write(r.to, frame[:]); err != nil {
		return 0, 0, false, fmt.Errorf("the worker is gone: %w", err)
	}
	if err := readFull(r.from, frame[:]); err != nil {
		return 0, 0, false, fmt.Errorf("the worker is gone: %w", err)
	}
	if n := binary.NativeEndian.Uint64(frame[:]); n != r.number {
		return 0, 0, false, fmt.Errorf("the worker answers request %d instead of %d", n, r.number)
	}
	return time.Duration(binary.NativeEndian.Uint64(frame[8:])), time.Duration(binary.NativeEndian.Uint64(frame[16:])), r.m.right(), nil
}

// readFull reads from a blocking descriptor.
func readFull(fd int, into []byte) error {
	for len(into) > 0 {
		n, err := syscall.Read(fd, into)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		into = into[n:]
	}
	return nil
}

func (r *remote) cpu() time.Duration { return processTime(r.cmd.Process.Pid) }

// close ends the worker, which sees its pipe closed.
func (r *remote) close() error {
	syscall.Close(r.to)
	err := r.cmd.Wait()
	syscall.Close(r.from)
	return errors.Join(err, unix.Munmap(r.memory))
}

// work is the worker process: descriptors 3, 4 and 5 are the shared memory, the requests and the answers.
func work(rows int) error {
	runtime.LockOSThread()
	memory, err := mapShared(os.NewFile(3, "memory"))
	if err != nil {
		return err
	}
	const size = matrixWidth * rowBytes
	m := &matrices{a: memory[:size], b: memory[size : 2*size], c: memory[2*size:], rows: rows}
	var frame [frameBytes]byte
	for {
		if err := readFull(4, frame[:]); errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return err
		}
		binary.NativeEndian.PutUint64(frame[8:], uint64(now()))
		m.multiplyHeld()
		binary.NativeEndian.PutUint64(frame[16:], uint64(now()))
		if _, err := syscall.Write(5, frame[:]); err != nil {
			return err
		}
	}
}
