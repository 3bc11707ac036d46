// SPDX-License-Identifier: Apache-2.0

// Reads bodies of Pyroscope's push.v1.PusherService/Push into Pyroscope's own types, and prints the
// stacks of their profiles as JSON, a line each.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	profiles "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	push "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
)

type line struct {
	File   string            `json:"file"`
	Labels map[string]string `json:"labels"`
	Type   string            `json:"type"`
	Period int64             `json:"period"`
	Value  int64             `json:"value"`
	Stack  []string          `json:"stack"` // root first
}

func unpack(raw []byte) (*profiles.Profile, error) {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	p := &profiles.Profile{}
	return p, p.UnmarshalVT(data)
}

// Prints each sample of a profile.
func show(out *json.Encoder, file string, labels map[string]string, p *profiles.Profile) error {
	functions, locations := map[uint64]string{}, map[uint64][]string{}
	for _, f := range p.Function {
		functions[f.Id] = p.StringTable[f.Name]
	}
	for _, l := range p.Location {
		for _, one := range l.Line {
			locations[l.Id] = append(locations[l.Id], functions[one.FunctionId])
		}
	}
	for _, s := range p.Sample {
		if len(s.Value) != len(p.SampleType) {
			return errors.New("a sample with another number of values")
		}
		var stack []string
		for _, id := range s.LocationId {
			stack = append(stack, locations[id]...)
		}
		for i, j := 0, len(stack)-1; i < j; i, j = i+1, j-1 {
			stack[i], stack[j] = stack[j], stack[i]
		}
		for i, kind := range p.SampleType {
			name := p.StringTable[kind.Type] + ":" + p.StringTable[kind.Unit]
			if err := out.Encode(line{file, labels, name, p.Period, s.Value[i], stack}); err != nil {
				return err
			}
		}
	}
	return nil
}

func read(path string, out *json.Encoder) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	request := &push.PushRequest{}
	if err := request.UnmarshalVT(data); err != nil {
		return err
	}
	for _, series := range request.Series {
		labels := map[string]string{}
		for _, label := range series.Labels {
			labels[label.Name] = label.Value
		}
		for _, sample := range series.Samples {
			p, err := unpack(sample.RawProfile)
			if err != nil {
				return err
			}
			if err := show(out, filepath.Base(path), labels, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for _, path := range os.Args[1:] {
		if err := read(path, out); err != nil {
			fmt.Fprintln(os.Stderr, path, err)
			os.Exit(1)
		}
	}
}
