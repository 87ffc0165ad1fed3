"""The sources obey the layering, and the check notices when they do not."""

from pathlib import Path

import pytest
from layering import find_violations, source_files

ROOT = Path(__file__).resolve().parents[2]


def test_sources_obey_the_layering():
    violations = find_violations(ROOT)
    assert not violations, "\n" + "\n".join(map(str, violations))


def test_sources_are_found():
    assert len(list(source_files(ROOT))) > 30


def plant(root, file, line):
    """A small tree with one header per module and `line` planted in `file`."""
    for module in ("base", "device", "model", "scheduler", "process", "recipe", "protocol", "server"):
        (root / "src" / module).mkdir(parents=True)
        (root / "src" / module / "a.h").write_text("#pragma once\n")
    for path in ("kernels/ops.h", "kernels/select.h", "include/deepinfer/llm.h"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("#pragma once\n")
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text("#include <cstdint>\n" + line + "\n")


BAD = [
    ("src/base/b.cc", '#include "device/a.h"', "base may not include device"),
    ("src/model/b.cc", '#include "scheduler/a.h"', "model may not include scheduler"),
    ("src/recipe/b.cc", '#include "protocol/a.h"', "recipe may not include protocol"),
    ("src/scheduler/b.cc", '#include "recipe/a.h"', "scheduler may not include recipe"),
    ("src/protocol/b.cc", '#include "server/a.h"', "protocol may not include server"),
    ("src/server/routes.cc", '#include "scheduler/a.h"', "server may not include scheduler"),
    ("src/server/routes.cc", '#include "process/a.h"', "server may not include process"),
    ("include/deepinfer/b.h", '#include "base/a.h"', "include may not include base"),
    ("src/scheduler/b.cc", '  #  include "recipe/a.h"', "scheduler may not include recipe"),
    ("src/base/b.cc", '#include "a.h"', "no such file"),
    ("src/odd/b.cc", "", "no known module"),
    ("src/protocol/b.cc", "#include <httplib.h>", "not for this file"),
    ("src/server/b.cc", "#include <pcre2.h>", "not for this file"),
    ("src/model/b.h", "#include <nlohmann/json.hpp>", "not for this file"),
    ("src/scheduler/b.cc", "#include <CLI/CLI.hpp>", "not for this file"),
    ("src/engine/b.cc", "#include <xgrammar/matcher.h>", "not for this file"),
    ("src/constraint/constraint.h", "#include <xgrammar/compiler.h>", "not for this file"),
    ("src/device/cpu_device.cc", "#include <cuda_runtime.h>", "not for this file"),
    ("src/base/b.cc", "#include <boost/asio.hpp>", "neither a system header"),
    ("include/deepinfer/b.h", "#include <spdlog/spdlog.h>", "not for this file"),
    ("kernels/cpu/avx2/b.cc", '#include "kernels/select.h"', "only ops.h"),
    ("kernels/cpu/avx2/b.cc", "#include <algorithm>", "only C headers"),
    ("src/model/b.cc", 'const char* x = getenv("HOME");', "environment"),
    ("src/model/b.cc", "#if defined(DI_WITH_CUDA)", "factories"),
]


@pytest.mark.parametrize(("file", "line", "rule"), BAD, ids=[f"{f}: {l}" for f, l, _ in BAD])
def test_planted_violation_is_found(tmp_path, file, line, rule):
    plant(tmp_path, file, line)
    (violation,) = find_violations(tmp_path)
    assert violation.file == file
    assert rule in violation.rule


GOOD = [
    ("src/server/main.cc", '#include "process/a.h"'),
    ("src/server/main.cc", 'getenv("DEEPINFER_ARG_PORT");'),
    ("src/server/routes.cc", '#include "deepinfer/llm.h"'),
    ("src/model/b.cc", "#include <nlohmann/json.hpp>"),
    ("src/device/cuda_device.cc", "#include <cuda_runtime.h>"),
    ("src/device/factory.cc", "#if defined(DI_WITH_CUDA)"),
    ("src/server/b.cc", "#include <sys/socket.h>"),
    ("kernels/cpu/avx512/b.cc", "#include <immintrin.h>"),
    ("src/base/b.cc", "// getenv() is not called here"),
]


@pytest.mark.parametrize(("file", "line"), GOOD, ids=[f"{f}: {l}" for f, l in GOOD])
def test_allowed_line_passes(tmp_path, file, line):
    plant(tmp_path, file, line)
    assert find_violations(tmp_path) == []
