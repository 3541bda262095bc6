# SPDX-License-Identifier: Apache-2.0
# Addresses of object stores: a request for s3:// has the signature that AWS specifies (the server computes it independently); gs:// and
# hf:// are translated to the URLs of these services.
# shellcheck shell=sh disable=SC2034,SC2154
"$PYTHON" -c '' 2> /dev/null || skip "there is no Python"
mkdir -p "web/bucket/a b" web/datasets/me/set/resolve/main/data web/datasets/me/set/resolve/v1 web/me/model/resolve/main
printf '{"id":"a","text":"some words of a document that is short"}\n' > web/in.jsonl
for file in bucket/x.jsonl "bucket/a b/x+y=ü&z.jsonl" datasets/me/set/resolve/main/data/x.jsonl datasets/me/set/resolve/v1/x.jsonl me/model/resolve/main/x.jsonl; do
    cp web/in.jsonl "web/$file"
done
"$PYTHON" "$(dirname "$CASE")/../address_server.py" web ready log 2> served &
server=$!
comes test -s ready
at=http://127.0.0.1:$(cat ready)
export AWS_ENDPOINT_URL="$at/signed" AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=SECRET AWS_REGION=eu-central-1
bm sign s3://bucket/x.jsonl -o plain; exits 0
says log 'Credential=KEY/[0-9]*/eu-central-1/s3/aws4_request'
says plain/sources.tsv '^s3://bucket/x.jsonl	'
bm sign "s3://bucket/a b/x+y=ü&z.jsonl" -o named; exits 0
says named/sources.tsv '^s3://bucket/a b/x\+y=ü&z.jsonl	'
export AWS_SESSION_TOKEN=token/with+signs=
bm sign s3://bucket/x.jsonl -o token; exits 0
says log 'SignedHeaders=[^,]*x-amz-security-token'
AWS_SECRET_ACCESS_KEY=other
bm sign s3://bucket/x.jsonl -o no; refused 4 's3://bucket/x.jsonl: cannot read: the server answers 403: not allowed'
unset AWS_ACCESS_KEY_ID
export AWS_ENDPOINT_URL_S3="$at/plain"
bm sign s3://bucket/x.jsonl -o public; exits 0
export STORAGE_EMULATOR_HOST="$at/plain" CLOUDSDK_AUTH_ACCESS_TOKEN=gstoken
bm sign gs://bucket/x.jsonl -o gs; exits 0
says log '/plain/bucket/x.jsonl .* Bearer gstoken$'
export HF_ENDPOINT="$at/plain" HF_TOKEN=hftoken
bm sign hf://datasets/me/set/data/x.jsonl hf://datasets/me/set@v1/x.jsonl hf://me/model/x.jsonl --id-field none -o hf; exits 0
says log '/plain/datasets/me/set/resolve/v1/x.jsonl .* Bearer hftoken$'
says hf/ids.txt '^hf://datasets/me/set@v1/x.jsonl:1$'

# keys, tokens and passwords stay with their host: `away` is localhost, which is 127.0.0.1 by another name
port=${at##*:}
stays() { # stays: whoever was asked at localhost got no right with it
    checks=$((checks + 1)); grep -q " localhost:$port " log || fail "nobody was asked at localhost"
    checks=$((checks + 1)); if grep " localhost:$port " log | grep -qv " localhost:$port - -$"; then fail "a key, token or password went to localhost"; fi
    : > log
}
: > log
export AWS_ENDPOINT_URL_S3="$at/away" AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=SECRET
bm sign s3://bucket/x.jsonl -o away-s3; exits 0
says log "/away/bucket/x.jsonl .* 127.0.0.1:$port token/with\+signs= AWS4"
stays
export STORAGE_EMULATOR_HOST="$at/away" HF_ENDPOINT="$at/away"
bm sign gs://bucket/x.jsonl hf://me/model/x.jsonl --id-field none -o away-tokens; exits 0
says log "/away/bucket/x.jsonl .* Bearer gstoken$"
says log "/away/me/model/resolve/main/x.jsonl .* Bearer hftoken$"
stays
bm sign "http://me:secret@127.0.0.1:$port/away/in.jsonl" -o away-user; exits 0
says log '/away/in.jsonl .* Basic bWU6c2VjcmV0$'
stays
# ... and on the same one they are sent again
bm sign "http://me:secret@127.0.0.1:$port/moved/in.jsonl" -o moved-user; exits 0
says log '/plain/in.jsonl .* Basic bWU6c2VjcmV0$'
AWS_ENDPOINT_URL_S3="$at/away/signed"
bm sign s3://bucket/x.jsonl -o no
refused 4 's3://bucket/x.jsonl: cannot read: the server answers 404'
: > log
# a list that goes on elsewhere
HF_ENDPOINT="$at/as-link-away"
bm sign hf://datasets/me/set/ --format jsonl --id-field none -o no; exits 4
stays
absent no
kill $server
