#!/usr/bin/env bash
# From nothing to a chat: sets up, builds, starts the server on 127.0.0.1 with the bundled model,
# asks it one question and keeps serving until Ctrl-C.
#
#   scripts/quickstart.sh [--port N] [--no-wait]
#
# --port N    port to serve on; without it 8000, or the next free one
# --no-wait   stop the server after the first answer
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'quickstart: %s\n' "$@" >&2
  exit 1
}

port=
wait_for_ctrl_c=1
while (($#)); do
  case "$1" in
    --port)
      [[ ${2:-} =~ ^[0-9]+$ ]] && ((10#$2 >= 1 && 10#$2 <= 65535)) ||
        fail "--port takes a number in 1..65535"
      port=$2
      shift
      ;;
    --no-wait) wait_for_ctrl_c=0 ;;
    *) fail "unknown option '$1'; known are --port N and --no-wait" ;;
  esac
  shift
done

port_is_taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

choose_port() {
  if [[ -n $port ]]; then
    if port_is_taken "$port"; then fail "port $port is taken; choose another with --port"; fi
    return
  fi
  for ((port = 8000; port < 8100; port++)); do
    if ! port_is_taken "$port"; then
      if ((port != 8000)); then echo "port 8000 is taken, using $port"; fi
      return
    fi
  done
  fail "no port in 8000..8099 is free; choose one with --port"
}

server=
log=build/quickstart-server.log

stop_server() {
  if [[ -n $server ]]; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    server=
  fi
}

start_server() {
  local model=models/demo
  if [[ ! -f $model/config.json ]]; then
    model=tests/data/tiny-a
    echo "The bundled model is a test checkpoint: its weights are random, so its text is noise."
  fi
  # In a session of its own: Ctrl-C reaches this script, which asks the server to drain, once.
  setsid build/release/bin/deepinfer-server "$model" --host 127.0.0.1 --port "$port" \
    --served-model-name demo >"$log" 2>&1 &
  server=$!
  trap stop_server EXIT
  local attempt
  for ((attempt = 0; attempt < 600; attempt++)); do
    if curl -fs -o /dev/null --max-time 2 "http://127.0.0.1:$port/readyz"; then
      echo "ready (log: $log)"
      return
    fi
    if ! kill -0 "$server" 2>/dev/null; then
      tail -n 20 "$log" >&2
      fail "the server ended before it was ready; its last words are above"
    fi
    if ((attempt % 25 == 24)); then echo "  still loading ($(((attempt + 1) / 5)) s) …"; fi
    sleep 0.2
  done
  tail -n 20 "$log" >&2
  fail "the server was not ready within two minutes; its last words are above"
}

# Prints the text of a stream of chat chunks while it arrives.
print_deltas() {
  local piece
  sed -u -n -E 's/^data: .*"(reasoning_content|content)":"(([^"\\]|\\.)*)".*$/\2/p' |
    while IFS= read -r piece; do printf '%b' "$piece"; done
  echo
}

chat() {
  local url=http://127.0.0.1:$port/v1/chat/completions
  local body='{"model": "demo", "stream": true, "max_tokens": 128,
  "messages": [{"role": "user", "content": "Hello! What can you do?"}]}'
  printf "curl -N %s -H 'Content-Type: application/json' -d '%s'\n\n" "$url" "$body"
  local stream=build/quickstart-stream.txt
  curl -sSN --fail-with-body --max-time 120 "$url" -H 'Content-Type: application/json' \
    -d "$body" | tee "$stream" | print_deltas ||
    fail "the request failed; the answer is in $stream, the server's log in $log"
  grep -q '^data: \[DONE\]' "$stream" ||
    fail "the stream ended early; see $stream, and the server's log in $log"
}

print_help() {
  cat <<TEXT
The server speaks the OpenAI protocol at http://127.0.0.1:$port/v1. Talk to it with curl:

  curl -N http://127.0.0.1:$port/v1/chat/completions -H 'Content-Type: application/json' \\
    -d '{"model": "demo", "stream": true, "messages": [{"role": "user", "content": "Hi!"}]}'

or with the OpenAI SDK (pip install openai):

  from openai import OpenAI
  client = OpenAI(base_url="http://127.0.0.1:$port/v1", api_key="unused")
  stream = client.chat.completions.create(
      model="demo", stream=True, messages=[{"role": "user", "content": "Hi!"}])
  for chunk in stream:
      if chunk.choices:
          print(chunk.choices[0].delta.content or "", end="", flush=True)
TEXT
}

say "set up"
scripts/setup.sh --build-only
say "build"
cmake --preset release >/dev/null
cmake --build --preset release --target deepinfer-server deepinfer-cli
say "start"
choose_port
start_server
say "one question, answered token by token"
chat
say "your turn"
print_help

if ((wait_for_ctrl_c)); then
  say "serving; Ctrl-C stops"
  trap 'stop_server; trap - EXIT; exit 0' INT TERM
  wait "$server" || fail "the server ended by itself; its log is $log"
else
  stop_server
fi
