// SPDX-License-Identifier: Apache-2.0

// A real OpenTelemetry Collector: its own service and OTLP receiver, and an exporter that writes
// each request that arrives to a file.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/xexporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

type config struct {
	Folder string `mapstructure:"folder"`
}

type writer struct {
	component.StartFunc
	component.ShutdownFunc
	folder string
	count  atomic.Int64
}

func (w *writer) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{}
}

func (w *writer) ConsumeProfiles(_ context.Context, profiles pprofile.Profiles) error {
	data, err := pprofileotlp.NewExportRequestFromProfiles(profiles).MarshalProto()
	if err != nil {
		return err
	}
	name := filepath.Join(w.folder, fmt.Sprintf("%d-%d", os.Getpid(), w.count.Add(1)))
	if err := os.WriteFile(name+".part", data, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".part", name+".pb")
}

func create(_ context.Context, _ exporter.Settings, c component.Config) (xexporter.Profiles, error) {
	return &writer{folder: c.(*config).Folder}, nil
}

func factories() (otelcol.Factories, error) {
	files := xexporter.NewFactory(component.MustNewType("files"), func() component.Config { return &config{} },
		xexporter.WithProfiles(create, component.StabilityLevelDevelopment))
	exporters, err := otelcol.MakeFactoryMap[exporter.Factory](files)
	if err != nil {
		return otelcol.Factories{}, err
	}
	receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
	return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, err
}

func main() {
	command := otelcol.NewCommand(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "0.165.0"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{DefaultScheme: "file",
			ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()}}},
	})
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
