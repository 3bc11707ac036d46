// SPDX-License-Identifier: Apache-2.0

// What Pyroscope makes of recordings: a line "RECORDING METRIC TYPE SUM STACK" for each stack of
// each type of sample that its parser finds, frames root first, with tabs between the fields.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/grafana/jfr-parser/pprof"
)

func main() {
	status := 0
	for _, path := range os.Args[1:] {
		if err := read(path); err != nil {
			fmt.Fprintln(os.Stderr, path, err)
			status = 1
		}
	}
	os.Exit(status)
}

func read(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	input := &pprof.ParseInput{StartTime: time.Unix(0, 0), EndTime: time.Unix(1, 0), SampleRate: 1000}
	profiles, err := pprof.ParseJFR(data, input, nil)
	if err != nil {
		return err
	}
	if lost := profiles.ParseMetrics; lost != (pprof.ParseMetrics{}) {
		return fmt.Errorf("not found: %+v", lost)
	}
	for _, profile := range profiles.Profiles {
		p := profile.Profile
		for _, sample := range p.Sample {
			frames := make([]string, len(sample.LocationId))
			for i, location := range sample.LocationId {
				function := p.Function[p.Location[location-1].Line[0].FunctionId-1]
				frames[len(frames)-1-i] = p.StringTable[function.Name]
			}
			for i, value := range sample.Value {
				fmt.Printf("%s\t%s\t%s\t%d\t%s\n", filepath.Base(path), profile.Metric,
					p.StringTable[p.SampleType[i].Type], value, strings.Join(frames, ";"))
			}
		}
	}
	return nil
}
