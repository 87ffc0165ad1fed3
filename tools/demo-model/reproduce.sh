#!/usr/bin/env bash
# Makes models/demo from nothing: tokenizer, trunk, draft stages, export, answers, evaluation.
# usage: reproduce.sh [--smoke] WORK_DIR [OUT_DIR]     (WORK_DIR keeps checkpoints; run again to continue)
# --smoke runs every stage for a few steps only and writes to WORK_DIR/model: it shows that the stages work together.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
train=() draft=() few=() check=() smoke=
if [[ ${1:-} == --smoke ]]; then
  smoke=1 train=(--steps 12 --copy-steps 4 --select-from 8 --decay-from 10) draft=(--steps 6) few=(--max-tokens 8)
  check=(--count 11 "${few[@]}")
  shift
fi
work=${1:?usage: reproduce.sh [--smoke] WORK_DIR [OUT_DIR]}
out=${2:-${smoke:+$work/model}}
out=${out:-$here/../../models/demo}
mkdir -p "$work"
work=$(cd "$work" && pwd)
mkdir -p "$out"
out=$(cd "$out" && pwd)

if [[ ! -x $work/venv/bin/python ]]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet -r "$here/requirements.txt"
fi
python=$work/venv/bin/python
cd "$here"

[[ -f $work/tokenizer.json ]] || "$python" -m demo_model.make_tokenizer --out "$work"
"$python" -m demo_model.train --work "$work" "${train[@]}"
"$python" -m demo_model.train_drafter --work "$work" "${draft[@]}"
"$python" -m demo_model.export --work "$work" --out "$out"
"$python" -m demo_model.golden_answers --model "$out" "${few[@]}"
"$python" evaluate --model "$out" "${check[@]}" --out "$work/evaluation.json" --failures "$work/failures.jsonl"
"$python" -m demo_model.card --model "$out" --reference "$work/evaluation.json"
