# SPDX-License-Identifier: Apache-2.0
"""The toolchain file and the preset for Android, with a stand-in for the NDK.

Also compiles the C code of docs/how-to/android.md.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The project depends on one thing in the NDK's file: the system is a 64-bit Arm. The compiler stays
# this machine's.
TOOLCHAIN = """
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
file(APPEND ${CMAKE_CURRENT_LIST_DIR}/asked "${ANDROID_ABI} ${ANDROID_PLATFORM} ${ANDROID_STL}\\n")
"""

# The part of Android's headers that the page uses.
JNI = """
#pragma once
typedef int jint;
typedef long jlong;
typedef float jfloat;
typedef void *jobject, *jstring, *jfloatArray, *jclass;
typedef const struct JNINativeInterface* JNIEnv;
struct JNINativeInterface {
    jclass (*FindClass)(JNIEnv*, const char*);
    jint (*ThrowNew)(JNIEnv*, jclass, const char*);
    const char* (*GetStringUTFChars)(JNIEnv*, jstring, unsigned char*);
    void (*ReleaseStringUTFChars)(JNIEnv*, jstring, const char*);
    jint (*GetArrayLength)(JNIEnv*, jfloatArray);
    jfloat* (*GetFloatArrayElements)(JNIEnv*, jfloatArray, unsigned char*);
    void (*ReleaseFloatArrayElements)(JNIEnv*, jfloatArray, jfloat*, jint);
};
#define JNIEXPORT
#define JNICALL
#define JNI_ABORT 2
"""
ASSETS = """
#pragma once
#include <jni.h>
typedef struct AAsset AAsset;
typedef struct AAssetManager AAssetManager;
enum { AASSET_MODE_BUFFER = 3 };
AAssetManager* AAssetManager_fromJava(JNIEnv*, jobject);
AAsset* AAssetManager_open(AAssetManager*, const char*, int);
const void* AAsset_getBuffer(AAsset*);
long AAsset_getLength64(AAsset*);
void AAsset_close(AAsset*);
"""


def configure(folder, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ANDROID_NDK")}
    return subprocess.run(
        ["cmake", "--preset", "android", "-B", folder],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("variable", ["ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"])
def test_the_preset_builds_lite_alone(variable, tmp_path):
    file = tmp_path / "ndk/build/cmake/android.toolchain.cmake"
    file.parent.mkdir(parents=True)
    file.write_text(TOOLCHAIN)
    done = configure(tmp_path / "tree", **{variable: str(tmp_path / "ndk")})
    assert done.returncode == 0, done.stderr
    assert set((file.parent / "asked").read_text().splitlines()) == {
        "arm64-v8a android-30 c++_static"
    }
    build = (tmp_path / "tree/build.ninja").read_text()
    assert "liblite_shared.so" in build and "-march=armv8-a" in build
    for absent in ("libdnnl", "libcrypto", "load_and_run", "mge_base_test", "model/export/"):
        assert absent not in build
    assert missing_names(tmp_path / "tree") == set()


def missing_names(tree):
    """The names of oneDNN in the sources of a build without it that its stand-in does not have."""
    folder = ROOT / "libmge/kernel/cpu/onednn"
    header = (folder / "absent/oneapi/dnnl/dnnl.h").read_text()
    commands = json.loads((tree / "compile_commands.json").read_text())
    paths = {Path(command["file"]) for command in commands} - {folder / "memory_desc_v3.cpp"}
    texts = [path.read_text() for path in paths if path.is_relative_to(ROOT / "libmge")]
    used = {name for text in texts for name in re.findall(r"\bdnnl_\w+\b(?!\.h)", text)}
    return used - set(re.findall(r"\bdnnl_\w+", header))


@pytest.mark.parametrize(
    ("variables", "message"),
    [({}, "No Android NDK"), ({"ANDROID_NDK": "/nowhere"}, "'/nowhere' is no Android NDK")],
)
def test_a_missing_ndk_is_an_error_with_a_remedy(variables, message, tmp_path):
    done = configure(tmp_path / "tree", **variables)
    shown = " ".join(done.stderr.split())
    assert done.returncode and message in shown and "ANDROID_NDK" in shown


def test_the_c_code_of_the_page_compiles(run, tmp_path):
    specification = importlib.util.spec_from_file_location(
        "run_page", ROOT / "tests/docs/run_page.py"
    )
    run_page = importlib.util.module_from_spec(specification)
    sys.modules["run_page"] = run_page  # its dataclasses look it up
    specification.loader.exec_module(run_page)
    page = (ROOT / "docs/how-to/android.md").read_text()
    for block in run_page.blocks_of(page):
        if block.mark == "file":
            (tmp_path / block.value).write_text(block.code)
    (tmp_path / "android").mkdir()
    (tmp_path / "jni.h").write_text(JNI)
    (tmp_path / "android/asset_manager_jni.h").write_text(ASSETS)
    headers = [f"-I{tmp_path}", f"-I{ROOT}/libmge/lite/include"]
    for name in ("jni.c", "classifier.c"):
        warnings = ["-Wall", "-Wextra", "-Werror"]
        run("cc", "-std=c11", *warnings, *headers, "-fsyntax-only", tmp_path / name)
