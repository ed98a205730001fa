#!/bin/busybox sh
# shellcheck shell=dash
# The first process of an emulated machine. It ends in a line on the console that holds the key by which ssh knows the machine.
# The words dpubench.addressN=ADDRESS/BITS and dpubench.mtuN=BYTES of the kernel's command line are for network interface N, in order.
# dpubench.crossed=1 comes before them: packets of others are to cross this machine.
/bin/busybox mkdir -p /dpubench/bin
/bin/busybox --install -s /dpubench/bin
export PATH=/dpubench/bin:/usr/sbin:/usr/bin:/sbin:/bin

failed() {
    echo "dpubench-machine: failed: $1" >/dev/console
    poweroff -f
}

mkdir -p /proc /sys /dev /run /tmp /root /var/tmp /var/log
ln -s /run /var/run
mount -t proc proc /proc || failed "no /proc"
mount -t sysfs sysfs /sys || failed "no /sys"
mount -t devtmpfs devtmpfs /dev || failed "no /dev"
mkdir -p /dev/pts /dev/shm
mount -t devpts -o ptmxmode=666 devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# The first file system takes at most half of the memory; programs and inputs need more.
for folder in /dev/shm /run /tmp /root; do
    mount -t tmpfs -o size=90% tmpfs $folder || failed "no $folder"
done
chmod 1777 /tmp /dev/shm
chmod 700 /root
[ -e /dev/fd ] || ln -s /proc/self/fd /dev/fd

for module in /dpubench/modules/*.ko; do
    insmod "$module" || failed "the kernel refuses the module $module"
done

hostname vm
ip link set lo up
# shellcheck disable=SC2013  # it is words that are read
for word in $(cat /proc/cmdline); do
    case $word in
    dpubench.crossed=1)
        echo 1 >/proc/sys/net/ipv4/ip_forward || failed "its kernel does not forward IPv4"
        # Packets about addresses of its own would be counted with those that cross. Not every kernel has IPv6.
        for name in all default; do
            file=/proc/sys/net/ipv6/conf/$name/disable_ipv6
            [ ! -e $file ] || echo 1 >$file || failed "its kernel keeps IPv6"
        done
        ;;
    dpubench.mtu*=*)
        number=${word%%=*}
        ip link set "eth${number#dpubench.mtu}" mtu "${word#*=}" || failed "no interface with $word"
        ;;
    dpubench.address*=*)
        number=${word%%=*}
        interface=eth${number#dpubench.address}
        if ! ip address add "${word#*=}" dev "$interface" || ! ip link set "$interface" up; then failed "no interface $interface"; fi
        ;;
    esac
done

# A login takes the environment of its ssh server, and programs must be those of the userland.
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /root/.ssh /run/sshd
cp /dpubench/authorized_keys /root/.ssh/authorized_keys
chmod 700 /root/.ssh
if [ -x /usr/sbin/sshd ]; then
    ssh-keygen -q -t ed25519 -N '' -C '' -f /dpubench/host_key || failed "no host key"
    key=$(cat /dpubench/host_key.pub)
    /usr/sbin/sshd -f /dpubench/sshd_config || failed "sshd does not start"
else
    /bin/busybox --install -s
    # It prints the public key in a line of its own.
    key=$(dropbearkey -t ed25519 -f /dpubench/host_key 2>/dev/null | grep '^ssh-ed25519 ') || failed "no host key"
    # -s: no passwords; -W: the default window of 24 KiB makes an upload slow.
    dropbear -s -r /dpubench/host_key -W 1048576 -p 22 || failed "dropbear does not start"
fi
# Both servers go to the background before they listen, and a connection would be reset.
tries=0
until grep -q ':0016 00000000:0000 0A' /proc/net/tcp; do
    tries=$((tries + 1))
    [ $tries -le 600 ] || failed "its ssh server does not listen"
    sleep 0.1
done
echo "dpubench-machine: ready $key" >/dev/console

# Collect processes whose parents have ended.
while :; do
    sleep 3600 &
    wait
done
