#!/usr/bin/env python3
"""Runs clang-tidy over src and kernels, as many groups of files at a time as there are CPUs.

    scripts/tidy.py BUILD_DIR [FILE…]

Most of clang-tidy's time goes into the headers that every file includes, so files of one folder
that are compiled alike are read as one translation unit; a group whose files cannot share one
(two helpers of the same name, say) is read file by file. A group that was clean is not looked at
again until one of its files, a header they include, their compile command or .clang-tidy
changes: the results are kept in ~/.cache/deepinfer/tidy. Exit 1 on a finding.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
GROUP_SIZE = 10
# They are about included files, which a unit's .cc files are not really.
NOT_FOR_UNITS = "-bugprone-suspicious-include,-misc-definitions-in-headers"
MAX_CACHED = 5000


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "deepinfer" / "tidy"


def project_files(path, seen):
    """`path` and every project header it includes, directly or not."""
    if path in seen:
        return
    seen.add(path)
    for name in INCLUDE.findall(path.read_bytes()):
        for base in (ROOT, ROOT / "src", ROOT / "include"):
            header = base / name.decode()
            if header.is_file():
                project_files(header, seen)
                break


def cache_key(paths, flags, salt):
    seen = set()
    for path in paths:
        project_files(path, seen)
    # Another clone of the same sources is the same work.
    parts = [salt, " ".join(flags).replace(str(ROOT), "").encode()]
    for file in sorted(seen):
        parts += [file.relative_to(ROOT).as_posix().encode(), file.read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def compile_flags(entry):
    """The definitions, include folders, instruction sets and standard of a compile command."""
    words = shlex.split(entry["command"])
    return [
        word if word != "-isystem" else "-isystem" + words[i + 1]
        for i, word in enumerate(words)
        if re.match(r"-(D|I|isystem|std=|m[a-z0-9]+$)", word)
    ]


def run_tidy(path, flags, but=""):
    """(clean, output) of clang-tidy on one translation unit; `but` takes checks away."""
    tidy = ["clang-tidy", f"--config-file={ROOT}/.clang-tidy", f"--checks={but}", "--quiet"]
    done = subprocess.run(
        [*tidy, str(path), "--", *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.strip() or done.stderr.strip()
    clean = done.returncode == 0 and not done.stdout.strip()
    return clean, said or f"clang-tidy ended with status {done.returncode} on {path}"


def run_group(paths, flags):
    """Findings in `paths` as text; empty if they are clean."""
    if len(paths) > 1:
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as unit:
            unit.writelines(f'#include "{path}"\n' for path in paths)
            unit.flush()
            clean, output = run_tidy(unit.name, flags, NOT_FOR_UNITS)
        if clean:
            return ""
        if "[clang-diagnostic-error]" not in output:
            return output
    results = [run_tidy(path, flags) for path in paths]
    return "\n".join(output for clean, output in results if not clean)


def check(paths, flags, salt):
    mark = cache_dir() / cache_key(paths, flags, salt)
    if mark.exists():
        return ""
    findings = run_group(paths, flags)
    if not findings:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return findings


def forget_old_results():
    marks = sorted(cache_dir().glob("*"), key=lambda mark: mark.stat().st_mtime)
    for mark in marks[:-MAX_CACHED]:
        mark.unlink(missing_ok=True)


def groups_of(build_dir, only):
    """(files, compile flags) of what is to be read together."""
    together = defaultdict(list)
    for entry in json.loads((build_dir / "compile_commands.json").read_text()):
        path = Path(entry["file"])
        ours = path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "kernels")
        if ours and (not only or path in only):
            together[path.parent, tuple(compile_flags(entry))].append(path)
    for (_, flags), paths in sorted(together.items()):
        paths.sort()
        for start in range(0, len(paths), GROUP_SIZE):
            yield paths[start : start + GROUP_SIZE], flags


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    groups = list(groups_of(Path(sys.argv[1]).resolve(), {Path(n).resolve() for n in sys.argv[2:]}))
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    salt = version + (ROOT / ".clang-tidy").read_bytes()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        results = pool.map(lambda group: check(*group, salt), groups)
        findings = [text for text in results if text]
    print("\n".join(findings), end="")
    num_files = sum(len(paths) for paths, _ in groups)
    print(f"clang-tidy: {num_files} files, {len(findings)} groups with findings")
    forget_old_results()
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
