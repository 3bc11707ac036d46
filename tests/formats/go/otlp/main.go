// SPDX-License-Identifier: Apache-2.0

// What the OpenTelemetry Collector makes of profiles: each file of the arguments is taken as the
// body of a request to export, and written to stdout as the collector's JSON, a line for each.
package main

import (
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

func main() {
	for _, path := range os.Args[1:] {
		data, err := os.ReadFile(path)
		request := pprofileotlp.NewExportRequest()
		if err == nil {
			err = request.UnmarshalProto(data)
		}
		var text []byte
		if err == nil {
			text, err = request.MarshalJSON()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, path, err)
			os.Exit(1)
		}
		fmt.Println(string(text))
	}
}
