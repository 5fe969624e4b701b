//! That `why` says what a real command finds: the same answer for every path that can be thought of.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_boundary::{Act, Boundary, Found, HostName, Policy, Why};
use common::World;
use rstest::rstest;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Says of each path on standard input what can really be done to it, without changing anything that stays.
const TRY: &str = "
import os, sys, uuid
def can(act):
    try: act()
    except OSError: return False
    return True
def touch(p):
    os.close(os.open(p, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)); os.unlink(p)
for p in sys.argv[1:]:
    if os.path.isdir(p):
        print('list' if can(lambda: os.listdir(p)) else '', 'write' if can(lambda: touch(p + '/' + uuid.uuid4().hex)) else '', sep=',')
    elif os.path.exists(p):
        def read():
            with open(p, 'rb') as f: f.read(1)
        def write(): os.close(os.open(p, os.O_WRONLY))
        print('read' if can(read) else '', 'write' if can(write) else '', sep=',')
    else:
        print('', 'write' if can(lambda: touch(os.path.realpath(p))) else '', sep=',')
";

struct Scene {
    world: World,
    boundary: Boundary,
    paths: Vec<PathBuf>,
}

fn scene(change: impl FnOnce(&World, &mut Policy)) -> Scene {
    let world = World::new();
    let mut policy = world.policy();
    // Before what an ordinary user's Git could not add.
    change(&world, &mut policy);
    let workspace = &world.workspace;
    fs::create_dir_all(workspace.join("deep/er")).unwrap();
    fs::write(workspace.join("deep/er/file"), "").unwrap();
    fs::write(workspace.join("plain"), "").unwrap();
    for (name, mode) in [("unreadable", 0o200), ("read-only", 0o400), ("nothing", 0o000)] {
        fs::write(workspace.join(name), "").unwrap();
        fs::set_permissions(workspace.join(name), Permissions::from_mode(mode)).unwrap();
    }
    for (name, mode) in [("closed", 0o000), ("unlisted", 0o300), ("fixed", 0o500)] {
        fs::create_dir(workspace.join(name)).unwrap();
        fs::write(workspace.join(name).join("inside"), "").unwrap();
        fs::set_permissions(workspace.join(name), Permissions::from_mode(mode)).unwrap();
    }
    for (name, content) in [
        ("to-file", "plain"),
        ("to-outside", "../outside/secret"),
        ("to-system", "/usr/bin"),
        ("up", "deep/er/.."),
        ("round", "round"),
        ("dangling", "gone"),
    ] {
        symlink(content, workspace.join(name)).unwrap();
    }
    fs::create_dir(world.outside.join("tree")).unwrap();
    fs::write(world.outside.join("tree/leaf"), "").unwrap();
    let boundary = world.prepare(policy);
    let mut paths = Vec::new();
    for name in [
        "",
        "plain",
        "deep",
        "deep/er",
        "deep/er/file",
        "deep/new",
        "gone/new",
        "unreadable",
        "read-only",
        "nothing",
        "closed",
        "closed/inside",
        "closed/new",
        "unlisted",
        "unlisted/inside",
        "fixed",
        "fixed/inside",
        "fixed/new",
        "to-file",
        "to-outside",
        "to-system",
        "to-system/env",
        "up",
        "up/er/file",
        "round",
        "round/x",
        "dangling",
        "plain/x",
        "../outside/secret",
        ".git",
        ".git/config",
        ".git/hooks",
        ".git/new",
        ".git/objects",
    ] {
        paths.push(workspace.join(name));
    }
    for name in ["", "secret", "tree", "tree/leaf", "tree/new"] {
        paths.push(world.outside.join(name));
    }
    for path in [
        "/",
        "/new",
        "/usr",
        "/usr/bin",
        "/usr/bin/env",
        "/bin/sh",
        "/usr/new",
        "/lib",
        "/etc",
        "/etc/passwd",
        "/etc/shadow",
        "/etc/hostname",
        "/etc/new",
        "/etc/ssl/certs",
        "/etc/mtab",
        "/root",
        "/home",
        "/var",
        "/var/lib",
        "/var/tmp",
        "/var/tmp/new",
        "/sys",
        "/boot",
        "/opt",
        "/srv",
        "/mnt",
        "/run",
        "/run/new",
        "/tmp",
        "/tmp/new",
        "/home/agent",
        "/home/agent/new",
        "/dev",
        "/dev/null",
        "/dev/shm",
        "/dev/shm/new",
        "/dev/sda",
        "/dev/kmsg",
        "/etc/resolv.conf",
        "/nix",
        "/proc/self/new/er",
    ] {
        paths.push(PathBuf::from(path));
    }
    Scene { world, boundary, paths }
}

fn compared(why: &Why) -> String {
    let may = |act| if why.allowed.contains(&act) { act.name() } else { "" };
    let first = match why.found {
        Found::Directory => may(Act::List),
        Found::File | Found::Nothing | Found::Hidden | Found::Host => may(Act::Read),
    };
    format!("{first},{}", may(Act::Write))
}

#[rstest]
#[case::usual(|_: &World, _: &mut Policy| {})]
#[case::reading(|world: &World, policy: &mut Policy| {
    policy.workspace.as_mut().unwrap().mode = coder_boundary::Mode::Read;
    policy.reads = vec![world.outside.join("tree/leaf"), "/var/lib".into()];
})]
#[case::more(|world: &World, policy: &mut Policy| {
    policy.writes = vec![world.outside.clone()];
    policy.sealed = vec!["/usr/share".into()];
})]
#[case::sealed(|world: &World, policy: &mut Policy| {
    policy.reads = vec![world.outside.clone()];
    policy.sealed = vec![world.outside.join("tree"), world.outside.join("secret")];
})]
#[case::checkout(|world: &World, policy: &mut Policy| policy.git = Some(common::checkout(world)))]
#[case::network(|_: &World, policy: &mut Policy| policy.network = coder_boundary::Network::Host)]
fn why_agrees_with_what_a_command_finds(#[case] change: fn(&World, &mut Policy)) {
    let scene = scene(change);
    let mut arguments = vec!["-c".to_owned(), TRY.to_owned()];
    arguments.extend(scene.paths.iter().map(|path| path.to_str().unwrap().to_owned()));
    let command = scene.boundary.command("/usr/bin/python3").arguments(arguments);
    let outcome = command.capture(1 << 20).unwrap();
    let printed = String::from_utf8(outcome.stdout.head).unwrap();
    assert_eq!(
        printed.lines().count(),
        scene.paths.len(),
        "{}",
        String::from_utf8(outcome.stderr.head).unwrap()
    );
    let found: BTreeMap<&Path, String> = scene
        .paths
        .iter()
        .map(PathBuf::as_path)
        .zip(printed.lines().map(str::to_owned))
        .collect();
    let differing: Vec<_> = found
        .iter()
        .map(|(path, found)| (path, compared(&scene.boundary.why(path)), found))
        .filter(|(_, said, found)| said != *found)
        .collect();
    assert_eq!(differing, [], "in {}", scene.world.base.path().display());
    // So that they can be removed again.
    for name in ["closed", "unlisted", "fixed"] {
        fs::set_permissions(scene.world.workspace.join(name), Permissions::from_mode(0o700)).unwrap();
    }
}

#[rstest]
#[case::program("/usr/bin/env", &[Act::Read, Act::Execute], "the system's `/usr`, shown read-only")]
#[case::workspace("plain", &[Act::Read, Act::Write], "workspace `WORKSPACE`, shown writable")]
#[case::outside("../outside/secret", &[], "not granted: a command does not see `WORKSPACE/../outside/secret`")]
#[case::temporary("/tmp", &[Act::List, Act::Write], "the boundary's own `/tmp`, writable")]
fn the_rule_is_named(#[case] path: &str, #[case] allowed: &[Act], #[case] rule: &str) {
    let world = World::new();
    fs::write(world.workspace.join("plain"), "").unwrap();
    let why = world.prepare(world.policy()).why(&world.workspace.join(path));
    let workspace = world.workspace.to_str().unwrap();
    if !(path == "/tmp" && workspace.starts_with("/tmp/")) {
        assert_eq!(
            (why.allowed.as_slice(), why.rule),
            (allowed, rule.replace("WORKSPACE", workspace))
        );
    }
}

#[rstest]
#[case("none", "a.test", 443, false)]
#[case("host", "a.test", 443, true)]
#[case("allow:a.test:443", "a.test", 443, true)]
#[case("allow:a.test:443", "A.TEST", 443, true)]
#[case("allow:a.test:443", "a.test", 80, false)]
fn a_host_is_decided_by_the_network(#[case] network: &str, #[case] host: &str, #[case] port: u16, #[case] may: bool) {
    let world = World::new();
    let mut policy = world.policy();
    policy.network = network.parse().unwrap();
    let why = world
        .prepare(policy)
        .why_host(&HostName::parse(host.as_bytes()).unwrap(), port);
    assert_eq!(why.allows(Some(Act::Connect)), may);
    assert!(why.rule.starts_with("network"), "{}", why.rule);
}

#[test]
fn again_as_an_ordinary_user() {
    common::again_as_an_ordinary_user("again_as_an_ordinary_user");
}
