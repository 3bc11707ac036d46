// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// How Pyroscope 2 takes the samples of a profile (pkg/ingester/otlp/convert.go of August 2026):
// those that count CPU time are multiplied by the period, time off the processor is added up, and
// of a profile with a period each sample has to have one value.
type rules struct {
	name   string // of the profile and its values, as queries name them
	times  int64  // what a value is multiplied by
	adds   bool
	period bool
}

func rulesOf(kind, unit, periodKind, periodUnit string, period int64) rules {
	if period == 0 {
		periodKind, periodUnit = "", ""
	}
	r := rules{name: periodKind + ":" + kind + ":" + unit, times: 1}
	switch kind + ":" + unit + ":" + periodKind + ":" + periodUnit {
	case "samples:count:cpu:nanoseconds":
		r.name, r.times = "process_cpu:cpu:nanoseconds", period
	case "off_cpu:nanoseconds::":
		r.name, r.adds = "off_cpu:off_cpu:nanoseconds", true
	}
	return r
}

func (r rules) sum(values []int64, times int) (int64, error) {
	if len(values) == 0 {
		if times == 0 {
			return 0, fmt.Errorf("sample value is required")
		}
		values = []int64{int64(times)}
	}
	if r.adds {
		total := int64(0)
		for _, value := range values {
			total += value
		}
		values = []int64{total}
	}
	// With a period it says so at once; without one its store refuses the profile later.
	if len(values) != 1 {
		return 0, fmt.Errorf("sample values length mismatch %d 1", len(values))
	}
	if r.name[0] == ':' {
		return 0, fmt.Errorf("a profile without a name")
	}
	return values[0] * r.times, nil
}
