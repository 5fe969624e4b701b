//! What a command in the boundary cannot do, tried through the program itself, as whoever runs the tests and as a user
//! without any privilege.

use crate::world::{Call, User, World};
use rstest::rstest;
use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

const PYTHON: &str = "/usr/bin/python3";

/// A world with a key in its home, another task's store, and sockets of the host.
struct Besieged {
    world: World,
    port: u16,
    hidden: String,
    _listeners: (std::net::TcpListener, UnixListener, UnixListener),
}

impl Besieged {
    fn of(user: User) -> Self {
        let world = World::of(user);
        let ssh = world.directory("home/.ssh");
        fs::write(ssh.join("id_ed25519"), "secret key").unwrap();
        for name in ["home/.openagents", "home/.openagents/tasks", "elsewhere"] {
            world.directory(name);
        }
        world.write("home/.openagents/tasks/task-9.1.atif.jsonl", "another's");
        world.write("elsewhere/file", "outside");
        for path in [
            "home/.ssh/id_ed25519",
            "home/.openagents/tasks/task-9.1.atif.jsonl",
            "elsewhere/file",
        ] {
            // Nothing but the boundary protects them.
            fs::set_permissions(world.path(path), fs::Permissions::from_mode(0o666)).unwrap();
        }
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let named = UnixListener::bind(world.path("socket")).unwrap();
        fs::set_permissions(world.path("socket"), fs::Permissions::from_mode(0o777)).unwrap();
        let hidden = format!("microcoder-escape-{port}-{}", std::process::id());
        let abstracted = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap();
        Self {
            world,
            port,
            hidden,
            _listeners: (tcp, named, abstracted),
        }
    }

    fn shell(&self, script: &str) -> Call {
        self.world.microcoder(&["exec", "--", "/bin/sh", "-c", script])
    }

    fn python(&self, script: &str) -> Call {
        self.world.microcoder(&["exec", "--", PYTHON, "-c", script])
    }
}

#[rstest]
#[case::beside("echo x >{world}/elsewhere/file")]
#[case::parent("echo x >../new")]
#[case::home("echo x >{world}/home/new")]
#[case::tmp_of_the_host("echo x >{world}/tmp/new")]
#[case::through_a_link("ln -s {world}/elsewhere/file link && echo x >link")]
#[case::through_proc("echo x >/proc/self/root{world}/elsewhere/file")]
#[case::through_the_parent("cat /proc/1/root{world}/elsewhere/file")]
#[case::system("echo x >/usr/bin/new || echo x >/etc/passwd")]
#[case::key("cat {world}/home/.ssh/id_ed25519")]
#[case::key_by_name("cat ~/.ssh/id_ed25519")]
#[case::shadow("cat /etc/shadow")]
#[case::another_task("cat {world}/home/.openagents/tasks/task-9.1.atif.jsonl")]
#[case::host_process("cat /proc/{pid}/status || cat /proc/{pid}/environ || ls /proc/{pid}")]
#[case::signal("kill -0 {pid}")]
#[case::device("cat /dev/mem || cat /dev/sda || ls /dev/input")]
#[case::mount("mount -t tmpfs none .")]
#[case::namespace("unshare -Ur true")]
#[case::module("echo x >/proc/sys/kernel/modprobe")]
fn what_a_script_cannot_do(#[values(User::Same, User::Ordinary)] user: User, #[case] script: &str) {
    let besieged = Besieged::of(user);
    let world = &besieged.world;
    let script = script
        .replace("{world}", &world.text(""))
        .replace("{pid}", &std::process::id().to_string());
    let kept = ["home", "elsewhere", "tmp"];
    let before = kept.map(|name| world.listing(name));
    let seen = besieged.shell(&script).run();
    assert_ne!(seen.status, 0, "{}", seen.stdout);
    assert_eq!(seen.stdout, "");
    assert_eq!(kept.map(|name| world.listing(name)), before);
}

#[rstest]
fn the_hosts_sockets_and_processes_are_out_of_reach(#[values(User::Same, User::Ordinary)] user: User) {
    let besieged = Besieged::of(user);
    let script = format!(
        r#"
import ctypes, os, socket
def attempt(act):
    try:
        act()
        return "reached"
    except OSError as error:
        return "refused"
def connect(family, address):
    return lambda: socket.socket(family).connect(address)
libc = ctypes.CDLL(None, use_errno=True)
def attach():
    if libc.ptrace(16, {pid}, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
print(attempt(connect(socket.AF_INET, ("127.0.0.1", {port}))))
print(attempt(connect(socket.AF_INET, ("192.0.2.1", 80))))
print(attempt(connect(socket.AF_UNIX, {named:?})))
print(attempt(connect(socket.AF_UNIX, "\0{hidden}")))
print(attempt(attach))
print(attempt(lambda: os.kill({pid}, 0)))
print(attempt(lambda: os.listdir("/proc/{pid}")))
print(sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == [os.getpid()])
left, right = socket.socketpair()
left.send(b"x")
print(right.recv(1))
"#,
        pid = std::process::id(),
        port = besieged.port,
        named = besieged.world.text("socket"),
        hidden = besieged.hidden,
    );
    let expected = format!("{}True\nb'x'\n", "refused\n".repeat(7));
    assert_eq!(besieged.python(&script).run().printed(), expected);
}

#[rstest]
fn the_work_itself_is_not_hindered(#[values(User::Same, User::Ordinary)] user: User) {
    let world = World::of(user);
    let script = "mkdir d && echo one >d/a && mv d/a b && ln b c && ln -s b s && cat s && chmod 700 b \
                  && echo two >.b.new && mv .b.new b && cat b c && rm -r d && echo x >\"$TMPDIR/x\" && cat \"$HOME/../../$TMPDIR/x\" \
                  && id -u >/dev/null && mkfifo p && (echo piped >p & cat p)";
    let seen = world.microcoder(&["exec", "--", "/bin/sh", "-c", script]).run();
    assert_eq!(seen.printed(), "one\ntwo\none\nx\npiped\n");
    let names: Vec<String> = world.listing("work").into_keys().collect();
    assert_eq!(names, ["b", "c", "p", "s"]);
}

#[test]
fn nothing_of_ours_ever_appears_in_the_workspace() {
    let world = World::new();
    let mut gate = crate::world::Gate::at(&world.path("repo/gate"));
    let mut back = crate::world::Gate::at(&world.path("repo/back"));
    let before: Vec<String> = world.listing("repo").into_keys().collect();
    let script = "echo ready >gate; read line <back";
    let running = world
        .microcoder(&["exec", "--", "/bin/sh", "-c", script])
        .inside("repo")
        .start();
    let over = std::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        // Looked at all the time: from before the boundary is made until after it is gone.
        let watcher = scope.spawn(|| {
            let mut names = std::collections::BTreeSet::new();
            while !over.load(std::sync::atomic::Ordering::SeqCst) {
                names.extend(world.listing("repo").into_keys());
            }
            names
        });
        gate.wait(&running);
        back.open();
        running.wait().printed();
        over.store(true, std::sync::atomic::Ordering::SeqCst);
        watcher.join().unwrap()
    });
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), before);
}

#[test]
fn report_5_git_sees_the_same_inside_and_outside() {
    let world = World::new();
    world.worktree();
    for directory in ["repo", "tree"] {
        world.write(&format!("{directory}/notes.txt"), "changed\n");
        world.write(&format!("{directory}/new"), "new\n");
        let outside = world.git(directory, &["status", "--porcelain", "--ignored"]);
        let inside = world
            .microcoder(&["exec", "--", "git", "status", "--porcelain", "--ignored"])
            .inside(directory)
            .run();
        assert_eq!(inside.printed(), outside);
        assert_eq!(outside, " M notes.txt\n?? new\n");
        let staged = world.microcoder(&[
            "exec",
            "--",
            "sh",
            "-c",
            "git add --all && git diff --cached --stat | tail -1",
        ]);
        assert_eq!(
            staged.inside(directory).run().printed(),
            " 2 files changed, 2 insertions(+), 1 deletion(-)\n"
        );
    }
}

#[rstest]
#[case::config("git config core.pager 'touch {world}/elsewhere'")]
#[case::hook("echo x >.git/hooks/pre-commit || echo x >\"$(git rev-parse --git-common-dir)/hooks/pre-commit\"")]
#[case::moved_hook("echo x >.git/x; mv .git/x .git/hooks/pre-commit")]
#[case::alternates("echo /tmp >\"$(git rev-parse --git-common-dir)/objects/info/alternates\"")]
fn report_9_git_cannot_be_turned_against_its_user(#[values("repo", "tree")] directory: &str, #[case] script: &str) {
    let world = World::new();
    world.worktree();
    fs::create_dir(world.path("repo/.git/hooks")).unwrap();
    let before = world.listing("repo/.git/hooks");
    let config = world.read("repo/.git/config");
    let seen = world
        .microcoder(&["exec", "--", "sh", "-c", script])
        .inside(directory)
        .run();
    assert_ne!(seen.status, 0);
    assert_eq!(
        (world.listing("repo/.git/hooks"), world.read("repo/.git/config")),
        (before, config)
    );
    assert!(!world.path("repo/.git/objects/info/alternates").exists());
}
