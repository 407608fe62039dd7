# The first process: become systemd, which runs `in_session.sh` and nothing that it starts outside.

. /run/share/common.sh
prepare
: >/etc/fstab
rm -f /.dockerenv                       # else systemd takes the machine for a container
touch /etc/.updated /var/.updated         # else it makes databases of hardware and messages anew
ln -sf /dev/null /etc/tmpfiles.d/tmp.conf # it empties /tmp, of which this is a copy
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-control.socket \
    systemd-udevd-kernel.socket systemd-timesyncd.service systemd-pstore.service timers.target; do
    ln -sf /dev/null "/etc/systemd/system/$unit"
done

mkdir -p /run/systemd/system
cat >/run/systemd/system/sow-tests.service <<END
[Unit]
Description=tests of sow in a session of an ordinary user
Wants=dbus.socket user@$NUMBER.service
After=dbus.socket user@$NUMBER.service

[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/bin/sh /run/share/in_session.sh
END
exec /lib/systemd/systemd --unit=sow-tests.service
