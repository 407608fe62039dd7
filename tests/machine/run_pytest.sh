# Run tests that need control groups: `run_pytest.sh NAME FILE...`, as whoever calls it.

. /run/share/settings
folder=/run/tests/$1
shift
cd "$CHECKOUT" || exit
exec env -i PATH="$SEARCH" LANG=C.UTF-8 CI=true PYTHONUNBUFFERED=1 \
    HOME="$folder" TMPDIR="$folder" "$PYTHON" -m pytest -p no:cacheprovider -m groups --durations 0 \
    --junit-xml="$folder/tests.xml" "$@"
