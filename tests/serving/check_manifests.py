# SPDX-License-Identifier: Apache-2.0
"""Checks manifests for Kubernetes against the classes of kserve and kubernetes.

    check_manifests.py FILE...

Ends with an error that names the first field that has no place, is missing, or is of another type.
"""

import re
import sys

import kserve.models
import kubernetes.client.models
import yaml

KINDS = {
    ("serving.kserve.io/v1alpha1", "ServingRuntime"): "V1alpha1ServingRuntime",
    ("serving.kserve.io/v1beta1", "InferenceService"): "V1beta1InferenceService",
}
PLAIN = {"str": str, "int": int, "float": (int, float), "bool": bool, "object": object}


def class_of(name):
    for home in (kserve.models, kubernetes.client.models):
        if hasattr(home, name):
            return getattr(home, name)
    raise SystemExit(f"neither kserve nor kubernetes has a class {name}")


def check(value, kind, place):
    if found := re.fullmatch(r"[Ll]ist\[(.+)\]", kind):
        if not isinstance(value, list):
            raise SystemExit(f"{place} is not a list")
        for index, one in enumerate(value):
            check(one, found[1], f"{place}[{index}]")
    elif found := re.fullmatch(r"[Dd]ict[\[(](\w+), (.+)[\])]", kind):
        for key, one in value.items():
            check(key, found[1], place)
            check(one, found[2], f"{place}.{key}")
    elif kind in PLAIN:
        if not isinstance(value, PLAIN[kind]):
            raise SystemExit(f"{place} is {value!r}, no {kind}")
    else:
        check_object(value, class_of(kind), place)


def check_object(value, cls, place):
    if not isinstance(value, dict):
        raise SystemExit(f"{place} is {value!r}, no {cls.__name__}")
    fields = {name: attribute for attribute, name in cls.attribute_map.items()}
    for name, one in value.items():
        if name not in fields:
            raise SystemExit(f"{place} ({cls.__name__}) has no field {name}")
        check(one, cls.openapi_types[fields[name]], f"{place}.{name}")
    # The constructor refuses missing fields and wrong values.
    arguments = {fields[name]: one for name, one in value.items()}
    try:
        cls(**arguments)
    except ValueError as error:
        raise SystemExit(f"{place}: {error}") from None


def main(paths):
    for path in paths:
        with open(path) as file:
            for document in yaml.safe_load_all(file):
                kind = KINDS[document["apiVersion"], document["kind"]]
                check_object(document, class_of(kind), document["kind"])
    print(len(paths), "manifests")


if __name__ == "__main__":
    main(sys.argv[1:])
