package broker

import "os"

// The program of the extension is the broker when its first argument says so.
// That is decided here and not in main: packages are initialized in the order
// of their import paths once what they import is, so this runs before gRPC,
// protobuf and net/http set themselves up, which a broker never uses. It starts
// in less than half the time, in half the memory. imports_test.go holds the
// imports that this rests on.
func init() {
	if len(os.Args) > 1 && os.Args[1] == Arg0 {
		Main(os.Args[2:])
	}
}
