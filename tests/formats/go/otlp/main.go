// SPDX-License-Identifier: Apache-2.0

// What the OpenTelemetry Collector and Pyroscope make of profiles. Each file of the arguments is
// taken as the body of a request to export, by the collector's own code. For each sample there is
// a line of JSON on stdout; for each file that one of both refuses a line on stderr.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
)

type sample struct {
	File       string         `json:"file"`
	Resource   map[string]any `json:"resource"`
	Type       string         `json:"type"`     // "samples:count"
	Period     string         `json:"period"`   // "cpu:nanoseconds", "" without one
	Begin      uint64         `json:"begin"`    // Unix nanoseconds
	Duration   uint64         `json:"duration"` // nanoseconds
	Attributes map[string]any `json:"attributes"`
	Trace      string         `json:"trace"` // of its link, "" without one
	Span       string         `json:"span"`
	Stack      []string       `json:"stack"` // root first
	Times      []uint64       `json:"times"`
	Values     []int64        `json:"values"`
	Pyroscope  string         `json:"pyroscope"` // name and unit that it has there
	Sum        int64          `json:"sum"`       // there
}

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
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(data); err != nil {
		return err
	}
	profiles := request.Profiles()
	// The collector's processors copy a profile with what it refers to: each index has to be one.
	copied := pprofile.NewProfiles()
	profiles.CopyTo(copied)
	for _, resource := range copied.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, profile := range scope.Profiles().All() {
				if err := readProfile(path, resource.Resource().Attributes(), profile, copied.Dictionary()); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func valueType(value pprofile.ValueType, dictionary pprofile.ProfilesDictionary) (string, string) {
	strings := dictionary.StringTable()
	return strings.At(int(value.TypeStrindex())), strings.At(int(value.UnitStrindex()))
}

func readProfile(path string, resource pcommon.Map, profile pprofile.Profile, dictionary pprofile.ProfilesDictionary) error {
	kind, unit := valueType(profile.SampleType(), dictionary)
	periodKind, periodUnit := valueType(profile.PeriodType(), dictionary)
	rules := rulesOf(kind, unit, periodKind, periodUnit, profile.Period())
	for _, s := range profile.Samples().All() {
		sum, err := rules.sum(s.Values().AsRaw(), len(s.TimestampsUnixNano().AsRaw()))
		if err != nil {
			return err
		}
		attributes, err := pprofile.FromAttributeIndices(dictionary.AttributeTable(), s, dictionary)
		if err != nil {
			return err
		}
		link := dictionary.LinkTable().At(int(s.LinkIndex()))
		out := sample{
			File: filepath.Base(path), Resource: resource.AsRaw(), Type: kind + ":" + unit,
			Begin: uint64(profile.Time()), Duration: profile.DurationNano(),
			Attributes: attributes.AsRaw(), Trace: link.TraceID().String(), Span: link.SpanID().String(),
			Stack: stack(s, dictionary), Times: s.TimestampsUnixNano().AsRaw(), Values: s.Values().AsRaw(),
			Pyroscope: rules.name, Sum: sum,
		}
		if profile.Period() != 0 {
			out.Period = periodKind + ":" + periodUnit
		}
		text, err := json.Marshal(out)
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	}
	return nil
}

func stack(s pprofile.Sample, dictionary pprofile.ProfilesDictionary) []string {
	var names []string
	for _, location := range dictionary.StackTable().At(int(s.StackIndex())).LocationIndices().All() {
		for _, line := range dictionary.LocationTable().At(int(location)).Lines().All() {
			function := dictionary.FunctionTable().At(int(line.FunctionIndex()))
			names = append([]string{dictionary.StringTable().At(int(function.NameStrindex()))}, names...)
		}
	}
	return names
}
