//! The filter of system calls, each refusal by the real call, and what can be allowed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Boundary, Error, Permission, Policy, Private};
use common::{World, again_as_an_ordinary_user, is_root, python, shell};

#[test]
fn as_an_ordinary_user() {
    again_as_an_ordinary_user("as_an_ordinary_user");
}

/// The errno of each call as the kernel gives it; the arguments are such that without the filter it would be another.
#[cfg(target_arch = "x86_64")]
#[test]
fn every_refused_call_is_refused_for_real() {
    let script = r#"
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    libc.syscall(ctypes.c_long(number), *words)
    return errno.errorcode.get(ctypes.get_errno(), "done")
buffer = ctypes.create_string_buffer(256)
me = os.getpid()
calls = dict(
    io_uring_setup=(425, 1, buffer), io_uring_enter=(426, -1, 0, 0, 0, 0, 0), io_uring_register=(427, -1, 0, 0, 0),
    ptrace=(101, 0, 0, 0, 0), process_vm_readv=(310, me, 0, 0, 0, 0, 0), process_vm_writev=(311, me, 0, 0, 0, 0, 0),
    pidfd_getfd=(438, -1, 0, 0), kcmp=(312, me, me, 0, 0, 0),
    add_key=(248, b"user", b"x", b"y", 1, -3), request_key=(249, b"user", b"x", 0, 0), keyctl=(250, 0, -3, 0),
    bpf=(321, 0, buffer, 4), perf_event_open=(298, buffer, 0, -1, -1, 0), userfaultfd=(323, 1),
    mount=(165, b"x", b"/tmp", b"tmpfs", 0, 0), umount2=(166, b"/tmp", 0), pivot_root=(155, b".", b"."), chroot=(161, b"/tmp"),
    open_tree=(428, -100, b"/", 1), move_mount=(429, -1, b"", -1, b"", 0), fsopen=(430, b"tmpfs", 0), fsconfig=(431, -1, 0, 0, 0, 0),
    fsmount=(432, -1, 0, 0), fspick=(433, -100, b"/", 0), mount_setattr=(442, -1, b"", 0, 0, 0), open_tree_attr=(467, -100, b"/", 0, 0, 0),
    unshare_user=(272, 0x10000000), unshare_net=(272, 0x40000000), clone_user=(56, 0x10000011, 0, 0, 0, 0), setns=(308, -1, 0),
    open_by_handle_at=(304, -1, buffer, 0), name_to_handle_at=(303, -100, b"/", buffer, buffer, 0), fanotify_init=(300, 0, 0),
    kexec_load=(246, 0, 0, 0, 0), init_module=(175, buffer, 0, b""), finit_module=(313, -1, b"", 0), delete_module=(176, b"x", 0),
    swapon=(167, b"/tmp/x", 0), reboot=(169, 0, 0, 0, 0), acct=(163, 0), quotactl=(179, 0, 0, 0, 0), syslog=(103, 10, 0, 0),
    settimeofday=(164, buffer, 0), clock_settime=(227, 0, buffer), iopl=(172, 3), ioperm=(173, 0, 1, 1), modify_ldt=(154, 0, buffer, 8),
    personality=(135, 0x0040000 | 0x0020000), tiocsti=(16, 0, 0x5412, buffer), chmod_setuid=(90, b"/tmp", 0o4755),
)
wrong = {name: got for name, arguments in calls.items() if (got := call(*arguments)) != "EPERM"}
missing = {name: got for name, arguments in dict(
    clone3=(435, buffer, 88), openat2=(437, -100, b"/", buffer, 24), x32_getpid=(0x40000000 | 39,), x32_ptrace=(0x40000000 | 521, 0, 0, 0, 0),
).items() if (got := call(*arguments)) != "ENOSYS"}
families = {}
for family in range(0, 46):
    for protocol in (0, 9):
        s = libc.socket(family, 2 if family != 40 else 1, protocol)
        if s >= 0:
            os.close(s)
            families.setdefault(family, []).append(protocol)
for name in ("netlink_audit", "vsock", "packet", "alg"):
    family, protocol = dict(netlink_audit=(16, 9), vsock=(40, 0), packet=(17, 0), alg=(38, 0))[name]
    ctypes.set_errno(0)
    if libc.socket(family, 3, protocol) >= 0 or ctypes.get_errno() != errno.EPERM:
        wrong[name] = errno.errorcode.get(ctypes.get_errno(), "made")
print(wrong, missing, sorted(families))
"#;
    // Unix and internet sockets, and netlink for routes.
    assert_eq!(World::new().python(script).printed(), "{} {} [1, 2, 10, 16]\n");
}

/// Report 7: what is refused is a family or a flag, never the way that programs talk to their own.
#[test]
fn report_7_what_runtimes_do_works() {
    let script = r#"
import asyncio, multiprocessing, os, signal, socket, subprocess, threading
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
async def main():
    loop = asyncio.get_running_loop()
    loop.call_later(0, loop.call_soon_threadsafe, lambda: None)
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    out, _ = await child.communicate(b"through")
    return out
assert asyncio.run(main()) == b"through"
t = threading.Thread(target=lambda: None); t.start(); t.join()
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]
fd = os.pidfd_open(os.getpid()); signal.pidfd_send_signal(fd, 0)
os.memfd_create("x"); os.eventfd(0)
print("works")
"#;
    assert_eq!(World::new().python(script).printed(), "works\n");
}

const DEBUG: &str = r#"
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
value = ctypes.create_string_buffer(b"before")
class iovec(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(7)
os.waitpid(child, os.WUNTRACED)
local = ctypes.create_string_buffer(6)
read = libc.process_vm_readv(child, ctypes.byref(iovec(ctypes.addressof(local), 6)), 1,
    ctypes.byref(iovec(ctypes.addressof(value), 6)), 1, 0)
let_go = libc.ptrace(17, child, 0, 0)
if let_go != 0: os.kill(child, signal.SIGCONT)
print(read, local.raw, let_go, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
warden = libc.ptrace(16, 1, 0, 0)
print("warden", warden, libc.process_vm_readv(1, ctypes.byref(iovec(ctypes.addressof(local), 6)), 1,
    ctypes.byref(iovec(0x1000, 6)), 1, 0))
"#;

#[test]
fn a_debugger_reaches_the_commands_own_processes_where_it_is_allowed_and_nothing_else() {
    let world = World::new();
    let refused = python(&world.boundary(), DEBUG).printed();
    assert_eq!(refused, "-1 b'\\x00\\x00\\x00\\x00\\x00\\x00' -1 7\nwarden -1 -1\n");
    let boundary = world.prepare(Policy {
        debugger: Permission::Allowed,
        ..world.policy()
    });
    assert_eq!(boundary.planned().debugger, Permission::Allowed);
    assert_eq!(python(&boundary, DEBUG).printed(), "6 b'before' 0 7\nwarden -1 -1\n");
}

#[test]
fn nested_user_namespaces_work_where_they_are_allowed() {
    let world = World::new();
    let allowed = |private: Private| {
        Boundary::prepare(
            Policy {
                nested_namespaces: Permission::Allowed,
                ..world.policy()
            },
            private,
        )
    };
    shell(&world.boundary(), "unshare -Ur true").failed("Operation not permitted");
    if is_root() {
        let refused = allowed(Private::Memory).unwrap_err();
        assert!(matches!(refused, Error::NestedForRoot), "{refused}");
        return;
    }
    for private in [Private::Memory, world.scratch().into()] {
        let boundary = allowed(private).unwrap();
        assert_eq!(boundary.planned().nested_namespaces, Permission::Allowed);
        // A network and processes of its own, but no mount: Landlock holds what files there are.
        let script = "unshare -Urn sh -c 'id -u; ls /sys/class/net 2>&1 | head -0; ip link 2>/dev/null | head -0'; \
                      unshare -Ur mount -t tmpfs x /tmp 2>&1; echo $?; echo x 2>&1 > /proc/sys/kernel/hostname; echo $?";
        let seen = shell(&boundary, script).printed();
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines.first(), Some(&"0"), "{seen}");
        assert!(!seen.contains("mounted") && lines.get(2) != Some(&"0"), "{seen}");
    }
}
