# SPDX-License-Identifier: Apache-2.0
# https:// with a certificate that is signed by a private authority: refused, unless an environment variable names that authority.
# shellcheck shell=sh disable=SC2034,SC2154
"$PYTHON" -c '' 2> /dev/null || skip "there is no Python"
openssl version > /dev/null 2>&1 || skip "there is no openssl"
mkdir web
printf '{"id":"a","text":"some words of a document that is short"}\n' > web/in.jsonl
key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
# shellcheck disable=SC2086 # options
openssl req -x509 $key -subj "/CN=An authority" -days 2 -keyout authority.key -out authority.pem 2> /dev/null &&
    openssl req $key -subj "/CN=A server" -keyout server.key -out server.csr 2> /dev/null &&
    echo 'subjectAltName=IP:127.0.0.1' > extension &&
    openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile extension \
        -out server.pem 2> /dev/null || fail "no certificate was made"
cat server.key >> server.pem
"$PYTHON" "$(dirname "$CASE")/../address_server.py" web ready log server.pem 2> served &
server=$!
comes test -s ready
at=https://127.0.0.1:$(cat ready)
bm sign web/in.jsonl -o local; exits 0
unset CURL_CA_BUNDLE SSL_CERT_FILE
bm sign "$at/plain/in.jsonl" -o no; refused 4 "$at/plain/in.jsonl: cannot read: .*certificate"
trusts() { # trusts OUT NAME=FILE...
    out=$1
    shift
    command_line="$* bandmill sign $at/plain/in.jsonl"
    env "$@" "$PROGRAM" sign "$at/plain/in.jsonl" -o "$out" > ../out 2> ../err
    rc=$?
}
trusts by_curl CURL_CA_BUNDLE="$PWD/authority.pem"; exits 0
holds by_curl/signatures.npy < local/signatures.npy
trusts by_openssl SSL_CERT_FILE="$PWD/authority.pem"; exits 0
holds by_openssl/signatures.npy < local/signatures.npy
trusts first CURL_CA_BUNDLE="$PWD/authority.pem" SSL_CERT_FILE="$PWD/server.csr"; exits 0
trusts no CURL_CA_BUNDLE="$PWD/none.pem" SSL_CERT_FILE="$PWD/authority.pem"
refused 4 "$at/plain/in.jsonl: cannot read: "

# https:// leads to other places of https://, and never to http://, by a redirection or by a list that goes on there
serve() { # serve NAME [CERTIFICATE]
    name=$1
    shift
    "$PYTHON" "$(dirname "$CASE")/../address_server.py" web "$name" "$name.log" "$@" 2> "$name.served" &
    servers="$servers $!"
    comes test -s "$name"
}
servers=$server
serve plain
export TO="http://127.0.0.1:$(cat plain)"
serve downward server.pem
export TO="https://127.0.0.1:$(cat downward)"
serve upward
down=$TO
export CURL_CA_BUNDLE="$PWD/authority.pem" HF_ENDPOINT="$down/as-link-to"
bm sign "$down/moved/in.jsonl" -o moved; exits 0
bm sign "http://127.0.0.1:$(cat upward)/to/in.jsonl" -o upwards; exits 0
leads='the server leads from https:// to http://, which anybody can change'
bm sign "$down/to/in.jsonl?SECRET" -o no; refused 4 "$down/to/in.jsonl: cannot read: $leads"
bm sign hf://datasets/me/set/ -o no; refused 4 "hf://datasets/me/set/: cannot read: $leads"
absent no plain.log
# shellcheck disable=SC2086 # several
kill $servers
