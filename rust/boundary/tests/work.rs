//! What a command can do: the ordinary things programs do, which walls like these have broken elsewhere.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{
    Access, Boundary, Enforced, ExactFile, Layer, Mode, Network, Policy, Reach, Scratch, Workspace, probe,
};
use common::{World, again_as_an_ordinary_user, python, shell};
use rstest::rstest;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

#[test]
fn as_an_ordinary_user() {
    again_as_an_ordinary_user("as_an_ordinary_user");
}

#[rstest]
#[case::rename("echo 1 > a; mv a b; cat b", "1\n")]
#[case::rename_across("mkdir d e; echo 1 > d/a; mv d/a e/a; cat e/a", "1\n")]
#[case::move_a_directory("mkdir -p d/e f; mv d/e f/; ls f", "e\n")]
#[case::hard_link("echo 1 > a; ln a b; echo 2 > a; cat b", "2\n")]
#[case::symbolic_link("echo 1 > a; ln -s a b; cat b", "1\n")]
#[case::atomic_save("echo 1 > a; echo 2 > .a.tmp; sync .a.tmp; mv .a.tmp a; cat a", "2\n")]
#[case::truncate("echo 123 > a; : > a; wc -c < a", "0\n")]
#[case::fifo("mkfifo p; echo 1 > p & cat p", "1\n")]
#[case::executable("printf '#!/bin/sh\\necho ran' > a; chmod +x a; ./a", "ran\n")]
#[case::executable_in_tmp("printf '#!/bin/sh\\necho ran' > /tmp/a; chmod +x /tmp/a; /tmp/a", "ran\n")]
#[case::null("echo x > /dev/null; head -c 2 /dev/zero | wc -c", "2\n")]
#[case::random("head -c 3 /dev/urandom | wc -c", "3\n")]
#[case::standard_streams("echo out > /dev/stdout; echo in | cat /dev/stdin", "out\nin\n")]
#[case::mktemp("f=$(mktemp) && echo 1 > $f && cat $f && ls /tmp | wc -l >/dev/null", "1\n")]
#[case::home("cd; pwd; echo 1 > .x; cat ~/.x", "/home/agent\n1\n")]
#[case::var_tmp("echo 1 > /var/tmp/x; cat /tmp/x", "1\n")]
#[case::signals("sleep 60 & kill -9 $!; wait $!; echo $?", "137\n")]
#[case::dates("TZ=America/New_York date -d @0 +%H", "19\n")]
#[case::accounts("getent passwd root | cut -d: -f1-4", "root:x:0:0\n")]
#[case::hosts("getent hosts localhost | wc -l", "1\n")]
fn files_and_processes_work(#[case] script: &str, #[case] printed: &str) {
    let world = World::new();
    assert_eq!(world.shell(script).printed(), printed);
}

/// Report 7: denying calls by name broke wake-ups and pipes made of sockets.
#[test]
fn report_7_socket_pairs_and_event_loops_work() {
    let world = World::new();
    let script = r#"
import asyncio, socket
a, b = socket.socketpair(); a.send(b"x"); print(b.recv(1))
async def main():
    async def answer(reader, writer):
        writer.write(await reader.readline()); await writer.drain(); writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"over loopback\n"); print(await reader.readline())
    process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print(await process.communicate(b"through a child"))
    await asyncio.to_thread(lambda: None)
asyncio.run(main())
"#;
    assert_eq!(
        world.python(script).printed(),
        "b'x'\nb'over loopback\\n'\n(b'through a child', None)\n"
    );
}

#[rstest]
#[case::multiprocessing(
    r#"
import multiprocessing
with multiprocessing.Pool(2) as pool: print(pool.map(abs, [-1, -2]))
queue = multiprocessing.Queue(); queue.put(3); print(queue.get())
"#,
    "[1, 2]\n3\n"
)]
#[case::shared_memory(
    r#"
from multiprocessing import shared_memory
block = shared_memory.SharedMemory(create=True, size=1 << 20); block.buf[0] = 7
same = shared_memory.SharedMemory(block.name); print(same.buf[0]); same.close(); block.close(); block.unlink()
"#,
    "7\n"
)]
#[case::sqlite_with_a_log(
    r#"
import sqlite3
db = sqlite3.connect("db"); print(db.execute("pragma journal_mode=wal").fetchone())
db.execute("create table t(a)"); db.execute("insert into t values (1)"); db.commit()
print(sqlite3.connect("db").execute("select a from t").fetchall())
"#,
    "('wal',)\n[(1,)]\n"
)]
#[case::terminal(
    r#"
import os, pty
pid, terminal = pty.fork()
if pid == 0: os.execvp("sh", ["sh", "-c", "test -t 0 && tty > /dev/tty"])
print(os.read(terminal, 100)); os.waitpid(pid, 0)
"#,
    "b'/dev/pts/0\\r\\n'\n"
)]
#[case::threads(
    "import threading; t = threading.Thread(target=print, args=(1,)); t.start(); t.join()",
    "1\n"
)]
#[case::unix_socket(
    r#"
import socket
s = socket.socket(socket.AF_UNIX); s.bind("s"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("s"); c.send(b"1"); print(s.accept()[0].recv(1))
a = socket.socket(socket.AF_UNIX); a.bind("\0own"); a.listen()
c = socket.socket(socket.AF_UNIX); c.connect("\0own"); print("own abstract")
"#,
    "b'1'\nown abstract\n"
)]
#[case::interfaces("import socket; print(socket.if_nameindex())", "[(1, 'lo')]\n")]
#[case::file_lock("import fcntl; f = open('l', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(1)", "1\n")]
#[case::watching_files(
    r#"
import ctypes, os
libc = ctypes.CDLL(None); fd = libc.inotify_init1(0); libc.inotify_add_watch(fd, b".", 0x100)
open("new", "w").close(); print(b"new" in os.read(fd, 4096))
"#,
    "True\n"
)]
fn runtimes_work(#[case] script: &str, #[case] printed: &str) {
    assert_eq!(World::new().python(script).printed(), printed);
}

#[rstest]
#[case::node(
    "/usr/bin/node",
    "require('child_process').execSync('cat', {input: 'node', stdio: ['pipe', 1]})",
    "node"
)]
#[case::perl("/usr/bin/perl", "print qx(echo perl)", "perl\n")]
fn other_runtimes_work_where_they_are(#[case] program: &str, #[case] script: &str, #[case] printed: &str) {
    if !std::path::Path::new(program).exists() {
        println!("skipped: {program} is missing");
        return;
    }
    let world = World::new();
    let boundary = world.boundary();
    let outcome = boundary
        .command(program)
        .arguments(["-e", script])
        .capture(1 << 16)
        .unwrap();
    assert_eq!((outcome.stdout.head, outcome.stderr.head), (printed.into(), Vec::new()));
}

#[test]
fn a_compiler_works() {
    let world = World::new();
    fs::write(
        world.workspace.join("a.c"),
        "#include <stdio.h>\nint main() { puts(\"compiled\"); }",
    )
    .unwrap();
    assert_eq!(
        world
            .shell("! command -v cc >/dev/null || cc a.c -o a && ./a")
            .printed(),
        "compiled\n"
    );
}

#[test]
fn what_a_command_leaves_in_its_home_lasts_for_the_next_and_no_longer() {
    let world = World::new();
    let boundary = world.boundary();
    shell(
        &boundary,
        "echo 1 > /tmp/kept; echo 2 > ~/kept; mkdir -p ~/locked/in; touch ~/locked/in/x; chmod 0 ~/locked/in ~/locked",
    )
    .printed();
    assert_eq!(shell(&boundary, "cat /tmp/kept ~/kept").printed(), "1\n2\n");
    let scratch = boundary.scratch().unwrap().path().to_path_buf();
    assert!(scratch.join("tmp/kept").exists());
    drop(boundary);
    assert!(!scratch.exists());
}

#[test]
fn granted_paths_lie_where_they_lie_outside() {
    let world = World::new();
    let deep = world.base.path().join("deep/er");
    fs::create_dir_all(&deep).unwrap();
    let single = world.base.path().join("single");
    fs::write(&single, "old").unwrap();
    let policy = Policy {
        writes: vec![deep.clone(), single.clone()],
        reads: vec![world.outside.join("secret"), world.workspace.clone()],
        ..world.policy()
    };
    let boundary = world.prepare(policy);
    let script = format!(
        "echo new > {single}; touch {deep}/x; cat {outside}/secret; ls {outside}; touch still-writable; ! rm {outside}/secret",
        single = single.display(),
        deep = deep.display(),
        outside = world.outside.display()
    );
    assert_eq!(shell(&boundary, &script).printed(), "secretsecret\n");
    assert_eq!(fs::read_to_string(&single).unwrap(), "new\n");
    assert!(deep.join("x").exists());
}

/// A judge is digested before it runs; what took its place since must not run as if it had been.
#[test]
fn an_exact_read_is_the_file_it_was_or_nothing_starts() {
    let world = World::new();
    let judge = world.base.path().join("judge");
    fs::write(&judge, "#!/bin/sh\necho judged\n").unwrap();
    fs::set_permissions(&judge, fs::Permissions::from_mode(0o755)).unwrap();
    let status = fs::metadata(&judge).unwrap();
    let boundary = world.prepare(Policy {
        exact_reads: vec![ExactFile {
            path: judge.clone(),
            device: status.dev(),
            inode: status.ino(),
        }],
        ..world.policy()
    });
    let command = boundary.command(&judge);
    assert_eq!(command.capture(100).unwrap().stdout.head, b"judged\n");
    let script = format!("! echo x >>{0}; ! rm {0}; ! chmod 777 {0}", judge.display());
    shell(&boundary, &script).printed();
    let other = world.base.path().join("other");
    fs::copy(&judge, &other).unwrap();
    fs::rename(&other, &judge).unwrap();
    assert!(command.capture(100).is_err(), "another file ran");
}

#[test]
fn a_read_inside_the_workspace_is_held_in_place() {
    let world = World::new();
    fs::create_dir(world.workspace.join("vendor")).unwrap();
    fs::write(world.workspace.join("vendor/a"), "a").unwrap();
    let boundary = world.prepare(Policy {
        reads: vec![world.workspace.join("vendor")],
        ..world.policy()
    });
    shell(
        &boundary,
        "touch ok && ! touch vendor/x && ! rm vendor/a && ! mv vendor gone && ! rmdir vendor",
    )
    .printed();
}

#[test]
fn the_whole_of_the_temporary_directory_can_be_granted() {
    let world = World::new();
    let scratch = Scratch::create("/var/tmp".as_ref()).unwrap();
    let policy = Policy {
        workspace: Some(Workspace {
            path: "/tmp".into(),
            mode: Mode::Read,
        }),
        ..Policy::default()
    };
    let boundary = Boundary::prepare(policy, scratch).unwrap();
    let script = format!(
        "echo $TMPDIR; touch $TMPDIR/x; ! touch /tmp/x; cat {}/secret",
        world.outside.display()
    );
    let printed = shell(&boundary, &script).printed();
    if world.outside.starts_with("/tmp") {
        assert_eq!(printed, "/run/agent/tmp\nsecret");
    }
}

#[test]
fn the_environment_is_exactly_this() {
    let world = World::new();
    let added = vec![("ADDED".into(), "1".into()), ("LANG".into(), "C".into())];
    let boundary = world.prepare(Policy {
        environment: added,
        ..world.policy()
    });
    let printed = python(
        &boundary,
        "import os; print(sorted(k for k in os.environ if k != 'LC_CTYPE'), os.environ['LANG'])",
    )
    .printed();
    assert_eq!(
        printed,
        "['ADDED', 'HOME', 'LANG', 'LOGNAME', 'PATH', 'TEMP', 'TMP', 'TMPDIR', 'USER'] C\n"
    );
}

#[test]
fn full_access_is_no_boundary_and_says_so() {
    let world = World::new();
    let policy = Policy {
        access: Access::Full,
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        ..world.policy()
    };
    let boundary = world.prepare(policy);
    let script = format!("pwd; cat {}/secret", world.outside.display());
    assert_eq!(
        shell(&boundary, &script).printed(),
        format!("{}\nsecret", world.workspace.display())
    );
    let full = Enforced::least(Access::Full, &Network::Host);
    assert_eq!(boundary.planned(), &full);
    let demand = Enforced::least(Access::Boundary, &Network::None);
    assert_eq!(full.satisfies(&demand).unwrap_err().layer, Layer::UserNamespace);
}

#[test]
fn what_was_enforced_is_what_the_children_report() {
    let world = World::new();
    let boundary = world.boundary();
    let outcome = boundary.command("/bin/true").capture(0).unwrap();
    let enforced = boundary.enforced(outcome.layers);
    assert_eq!(&enforced, boundary.planned());
    assert_eq!(
        enforced.satisfies(&Enforced::least(Access::Boundary, &Network::None)),
        Ok(())
    );
    assert_eq!(enforced.network, Reach::Loopback);
    let read: Enforced = serde_json::from_str(&serde_json::to_string(&enforced).unwrap()).unwrap();
    assert_eq!(read, enforced);
    // A report without a layer is not enough, whatever was planned.
    let less = boundary.enforced(outcome.layers & !(1 << Layer::SystemCalls as u64));
    assert_eq!(
        less.satisfies(boundary.planned()).unwrap_err().layer,
        Layer::SystemCalls
    );
}

#[test]
fn the_probe_finds_here_what_the_commands_of_these_tests_use() {
    let capabilities = probe().unwrap();
    assert_eq!(
        capabilities.obstacles().collect::<Vec<_>>(),
        Vec::<&coder_boundary::Gap>::new()
    );
    assert_eq!(capabilities.findings.len(), Layer::ALL.len());
}
