//! `microcoder why`: what may be done, by which rule, and its statuses; and that `exec` finds the same.

use crate::world::World;
use rstest::rstest;
use serde_json::json;

#[rstest]
#[case::own(&["work/file"], 0, "allowed; may read, write; may not execute\n  rule: workspace `WORK`, shown writable\n")]
#[case::read_only(&["--read-only", "--to", "write", "work/file"], 1, "refused; may read; may not write, execute\n  rule: workspace `WORK`, shown read-only\n")]
#[case::system(&["--to", "execute", "/usr/bin/env"], 0, "allowed; may read, execute; may not write\n  rule: the system's `/usr`, shown read-only\n")]
#[case::outside(&["secret"], 1, "refused; may not read, write\n  a command finds nothing there\n  rule: not granted: a command does not see `SECRET`\n")]
#[case::granted(&["--write", "BASE/more", "more"], 0, "allowed; may list, write\n  rule: write `BASE/more`, shown writable\n")]
#[case::no_network(&["example.org:443"], 1, "refused; may not connect\n  rule: network `none`: nothing but a loopback of the command's own\n")]
#[case::listed(&["--network", "allow:example.org:443", "example.org:443"], 0, "allowed; may connect\n  rule: network entry `example.org:443`, through the gateway\n")]
#[case::toolchains(&["--access", "toolchains", "example.org:443"], 0, "allowed; may connect\n  rule: network `host`: this computer's own network\n")]
fn the_answer_names_the_rule(#[case] arguments: &[&str], #[case] status: i32, #[case] expected: &str) {
    let world = World::empty();
    world.write("work/file", "");
    world.write("secret", "");
    world.directory("more");
    let (subject, options) = arguments.split_last().unwrap();
    let subject = match *subject {
        "work/file" | "secret" | "more" => world.text(subject),
        other => other.to_owned(),
    };
    let options: Vec<String> = options
        .iter()
        .map(|option| option.replace("BASE", &world.text("")))
        .collect();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let seen = world
        .microcoder(&["why"])
        .arguments(&options)
        .arguments(&[&subject])
        .run();
    let expected = expected
        .replace("WORK", &world.text("work"))
        .replace("SECRET", &world.text("secret"))
        .replace("BASE", &world.text(""));
    assert_eq!(
        (seen.status, seen.stdout),
        (status, format!("{subject}: {expected}")),
        "{}",
        seen.stderr
    );
}

#[test]
fn the_answer_is_one_document() {
    let world = World::empty();
    let seen = world
        .microcoder(&["why", "--json", "--to", "write", "/usr/bin/env"])
        .run();
    assert_eq!(seen.status, 1, "{}", seen.stderr);
    let expected = json!({
        "subject": "/usr/bin/env",
        "allowed": false,
        "found": "file",
        "may": ["read", "execute"],
        "may_not": ["write"],
        "rule": "the system's `/usr`, shown read-only",
    });
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&seen.stdout).unwrap(),
        expected
    );
}

#[rstest]
#[case::nothing(&["why"])]
#[case::empty(&["why", ""])]
#[case::unknown(&["why", "--to", "dance", "/usr"])]
#[case::network(&["why", "--network", "allow:x", "/usr"])]
#[case::reserved(&["why", "--write", "/etc", "/usr"])]
fn a_wrong_use_is_no_answer(#[case] arguments: &[&str]) {
    let seen = World::empty().microcoder(arguments).run();
    assert_eq!((seen.status, seen.stdout.as_str()), (64, ""), "{}", seen.stderr);
}
