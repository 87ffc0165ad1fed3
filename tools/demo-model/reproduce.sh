#!/usr/bin/env bash
# Makes models/demo from nothing: tokenizer, trunk, draft stages, export, answers, evaluation.
# usage: reproduce.sh WORK_DIR [OUT_DIR]     (WORK_DIR keeps checkpoints; run again to continue)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${1:?usage: reproduce.sh WORK_DIR [OUT_DIR]}
out=${2:-$here/../../models/demo}
mkdir -p "$work"

if [[ ! -x $work/venv/bin/python ]]; then
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet -r "$here/requirements.txt"
fi
python=$work/venv/bin/python
cd "$here"

[[ -f $work/tokenizer.json ]] || "$python" -m demo_model.make_tokenizer --out "$work"
"$python" -m demo_model.train --work "$work"
"$python" -m demo_model.train_drafter --work "$work"
"$python" -m demo_model.export --work "$work" --out "$out"
"$python" -m demo_model.golden_answers --model "$out"
"$python" evaluate --model "$out" --out "$work/evaluation.json" --failures "$work/failures.jsonl"
"$python" -m demo_model.card --model "$out" --reference "$work/evaluation.json"
