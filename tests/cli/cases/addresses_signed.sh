# Addresses of stores: a request of s3:// has the signature that AWS's rules ask for (the server computes it by itself); gs:// and hf://
# lead to the URLs of theirs.
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
absent no
kill $server
