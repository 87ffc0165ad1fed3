#!/usr/bin/env python3
"""Runs clang-tidy over src and kernels, as many files at a time as there are CPUs.

    scripts/tidy.py BUILD_DIR [FILE…]

A file that was clean is not looked at again until it, a header it includes, its compile command
or .clang-tidy changes: the results are kept in ~/.cache/deepinfer/tidy. Exit 1 on a finding.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
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


def cache_key(path, command, salt):
    seen = set()
    project_files(path, seen)
    # Another clone of the same sources is the same work.
    parts = [salt, command.replace(str(ROOT), "").encode()]
    for file in sorted(seen):
        parts += [file.relative_to(ROOT).as_posix().encode(), file.read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def check(path, command, build_dir, salt):
    """Findings of one file as text; empty if it is clean."""
    mark = cache_dir() / cache_key(path, command, salt)
    if mark.exists():
        return ""
    done = subprocess.run(
        ["clang-tidy", "-p", str(build_dir), "--quiet", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0 and not done.stdout.strip():
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        return ""
    return done.stdout or done.stderr


def forget_old_results():
    marks = sorted(cache_dir().glob("*"), key=lambda mark: mark.stat().st_mtime)
    for mark in marks[:-MAX_CACHED]:
        mark.unlink(missing_ok=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build_dir = Path(sys.argv[1]).resolve()
    only = {Path(name).resolve() for name in sys.argv[2:]}
    commands = {
        Path(entry["file"]): entry["command"].replace(str(build_dir), "")
        for entry in json.loads((build_dir / "compile_commands.json").read_text())
    }
    wanted = [
        path
        for path in sorted(commands)
        if path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "kernels")
        if not only or path in only
    ]
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    salt = version + (ROOT / ".clang-tidy").read_bytes()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        results = pool.map(lambda path: check(path, commands[path], build_dir, salt), wanted)
        findings = [text for text in results if text]
    print("\n".join(findings), end="")
    print(f"clang-tidy: {len(wanted)} files, {len(findings)} with findings")
    forget_old_results()
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
