# A service of systemd's: run the tests of workers that systemd starts, in a session of the user.

. /run/share/common.sh
run_as session su --login "$NAME" --command \
    "sh /run/share/run_pytest.sh session tests/journeys/test_given_groups.py"
systemctl --version >/run/share/session/systemd
journalctl --no-pager >/run/share/session/journal
switch_off
