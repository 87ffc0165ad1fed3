"""Reads the sources and reports every line that breaks the layering of CONTRIBUTING.md."""

import re
from dataclasses import dataclass
from pathlib import Path

# Module -> modules it may include, besides itself and include/deepinfer. Only arrows to the right:
#   server -> protocol -> recipe -> base
#   server (main) -> process -> scheduler -> engine -> constraint, model -> comm -> device
#                 -> kernels -> base
# The server sees what is below it only as Llm, so it lists none of the engine's modules.
_BELOW_MODEL = {"comm", "device", "kernels", "base"}
_BELOW_ENGINE = {"constraint", "model"} | _BELOW_MODEL
ALLOWED = {
    "include": set(),
    "base": set(),
    "kernels": {"base"},
    "device": {"kernels", "base"},
    "comm": {"device", "kernels", "base"},
    "model": _BELOW_MODEL,
    "constraint": {"base"},
    "engine": _BELOW_ENGINE,
    "scheduler": {"engine"} | _BELOW_ENGINE,
    "process": {"base"},
    "recipe": {"base"},
    "protocol": {"recipe", "base"},
    "server": {"protocol", "recipe", "base"},
    "cli": {"server", "protocol", "recipe", "process", "scheduler", "engine"} | _BELOW_ENGINE,
}
# Files that may do more than their module.
# main.cc puts the program together: it opens the engine, and --dry-run looks at the checkpoint.
ALLOWED_FILES = {"src/server/main.cc": {"process", "model"}}

# Vendor header -> pattern of the files that may include it.
VENDOR = {
    r"httplib\.h": r"src/server/",
    r"openssl/.*": r"src/server/",
    r"pcre2\.h": r"src/recipe/",
    r"nlohmann/.*": r"src/(server|protocol|recipe|cli|constraint|process)/|src/model/([a-z0-9_]+\.cc|json_[a-z_]+\.h)$",
    r"CLI/.*": r"src/cli/|src/server/(main|engine_flags|flag_set|foreign_flags|option_help|server_options)\.",
    r"utf8proc\.h": r"src/model/",
    r"(xgrammar|dlpack)/.*": r"src/constraint/[a-z_]+\.cc$|src/constraint/(compiled|grammar_builder)\.h$",
    r"(cuda|nccl|cublas|cute/|cutlass/).*": r"kernels/cuda/|src/device/cuda_|src/comm/nccl_",
    r"spdlog/.*|fmt/.*": r"src/|kernels/select\.cc$",
}
# System headers are named, so that a new dependency is a decision and not an accident.
SYSTEM = re.compile(
    r"[a-z_]+|(sys|netinet|arpa|linux|net)/[a-z_0-9]+\.h|"
    r"(cpuid|errno|fcntl|netdb|poll|pthread|sched|signal|spawn|termios|unistd|math|stdint|"
    r"stddef|string|[a-z0-9]+intrin)\.h"
)
# What a kernel variant may include: wider instruction sets must not leak through inline functions
# of shared headers (the linker keeps one copy for everybody).
VARIANT = re.compile(r"kernels/cpu/(?!reference/)[a-z0-9_]+/")
VARIANT_QUOTED = re.compile(r"kernels/(ops|tensor_view)\.h|kernels/cpu/.*\.h")
VARIANT_ANGLED = re.compile(
    r"c(float|limits|math|stddef|stdint|string)|(float|limits|math|stddef|stdint|string)\.h|"
    r"[a-z0-9]+intrin\.h"
)

# Word in the code -> pattern of the files that may hold it, and why.
WORDS = {
    r"\b(secure_)?getenv\s*\(|\benviron\b|->envname\(": (
        # The engine process inherits it.
        r"src/(server|cli)/main\.cc$|src/process/engine_process\.cc$",
        "the environment is read in main only",
    ),
    r"^\s*#\s*(el)?if.*\bDI_WITH_CUDA\b": (
        r"src/(device|comm)/[a-z_]*factory\.cc$",
        "DI_WITH_CUDA is tested only in the factories of device and comm",
    ),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".inc"}


@dataclass(frozen=True)
class Violation:
    file: str
    line: int
    text: str
    rule: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.text.strip()}  -- {self.rule}"


def module_of(path):
    """The module a root-relative file or include belongs to, or None."""
    parts = path.split("/")
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    if parts[0] in ("kernels", "include"):
        return parts[0]
    if parts[0] == "deepinfer":
        return "include"
    return parts[0] if parts[0] in ALLOWED else None


def _check_quoted(root, file, header):
    if not any((root / base / header).is_file() for base in ("", "src", "include")):
        return f"no such file from the root, src or include: {header}"
    target, module = module_of(header), module_of(file)
    if VARIANT.match(file) and not VARIANT_QUOTED.fullmatch(header):
        return "a kernel variant includes only ops.h and headers of kernels/cpu"
    if target is None:
        return f"{header} belongs to no module"
    allowed = ALLOWED[module] | ALLOWED_FILES.get(file, set()) | {module, "include"}
    if module == "include":
        allowed = {"include"}
    if target not in allowed:
        return f"{module} may not include {target}"
    return None


def _check_angled(file, header):
    for pattern, where in VENDOR.items():
        if re.fullmatch(pattern, header):
            return None if re.match(where, file) else f"<{header}> is not for this file"
    if VARIANT.match(file) and not VARIANT_ANGLED.fullmatch(header):
        return "a kernel variant includes only C headers and intrinsics"
    if not SYSTEM.fullmatch(header):
        return f"<{header}> is neither a system header nor a known dependency"
    return None


def _check_line(root, file, line):
    if include := INCLUDE.match(line):
        kind, header = include.groups()
        return _check_quoted(root, file, header) if kind == '"' else _check_angled(file, header)
    code = line.split("//")[0]
    for pattern, (where, rule) in WORDS.items():
        if re.search(pattern, code) and not re.match(where, file):
            return rule
    return None


def source_files(root):
    for top in ("src", "kernels", "include"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def find_violations(root):
    """Every forbidden line under src, kernels and include of `root`."""
    root = Path(root)
    found = []
    for path in source_files(root):
        file = path.relative_to(root).as_posix()
        if module_of(file) not in ALLOWED:
            found.append(Violation(file, 1, "", "belongs to no known module"))
            continue
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            if rule := _check_line(root, file, line):
                found.append(Violation(file, number, line, rule))
    return found
