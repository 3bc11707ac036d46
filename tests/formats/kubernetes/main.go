// SPDX-License-Identifier: Apache-2.0

// Builds a folder as `kubectl apply -k` does, by kustomize's own code, and reads each object into
// Kubernetes' own types, strictly: an unknown or doubled key is an error. Prints the objects as JSON.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Returns an object of the type that the API server knows by these names; nil: none.
func typed(version, kind string) any {
	switch version + "/" + kind {
	case "v1/ConfigMap":
		return &core.ConfigMap{}
	case "v1/Namespace":
		return &core.Namespace{}
	case "v1/Secret":
		return &core.Secret{}
	case "v1/Service":
		return &core.Service{}
	case "v1/ServiceAccount":
		return &core.ServiceAccount{}
	case "apps/v1/DaemonSet":
		return &apps.DaemonSet{}
	case "rbac.authorization.k8s.io/v1/ClusterRole":
		return &rbac.ClusterRole{}
	case "rbac.authorization.k8s.io/v1/ClusterRoleBinding":
		return &rbac.ClusterRoleBinding{}
	}
	return nil
}

func run(folder string) error {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	for _, one := range built.Resources() {
		text, err := one.AsYAML()
		if err != nil {
			return err
		}
		object := typed(one.GetApiVersion(), one.GetKind())
		if object == nil {
			return fmt.Errorf("no type for %s %s", one.GetApiVersion(), one.GetKind())
		}
		if text, err = yaml.YAMLToJSONStrict(text); err != nil {
			return err
		}
		wrong, err := strict.UnmarshalStrict(text, object)
		if err = errors.Join(append(wrong, err)...); err != nil {
			return fmt.Errorf("%s %s: %w", one.GetKind(), one.GetName(), err)
		}
		line, err := json.Marshal(object)
		if err != nil {
			return err
		}
		fmt.Println(string(line))
	}
	return nil
}

func main() {
	for _, folder := range os.Args[1:] {
		if err := run(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
