use super::*;
use crate::fixture::{World, run_in};
use crate::{BranchName, Candidate, IgnoredPaths, Observer, Repository, Worktrees, candidate_patch, changes};
use coder_digest::SystemClock;
use rstest::rstest;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// Everything this crate does with Git, on one repository.
fn exercise(world: &World, name: &str) {
    let repository = world.identify(name);
    repository.uncommitted(&world.git).unwrap();
    repository.ignored_paths(&world.git).unwrap();
    let worktrees = Worktrees::open(world.git.clone(), &world.path("records")).unwrap();
    let branch = BranchName::new("microcoder/run/candidate").unwrap();
    let head = repository.head.commit().unwrap().clone();
    let made = worktrees
        .create(&repository, &world.path("made"), &branch, &head)
        .unwrap();
    let observer = Observer::new(&SystemClock);
    let before = observer.observe(&made.repository.top).unwrap();
    for file in ["readme", "source/one.txt", "new"] {
        world.write(&format!("made/{file}"), "changed\n");
    }
    let after = observer.observe(&made.repository.top).unwrap();
    made.repository.uncommitted(&world.git).unwrap();
    let candidate = Candidate {
        repository: &made.repository,
        base: &head,
        after: &after,
        changes: &changes(&before, &after).unwrap(),
        ignored: &IgnoredPaths::default(),
    };
    let scratch = tempfile::tempdir().unwrap();
    let patch = candidate_patch(&world.git, &candidate, scratch.path(), 1 << 20).unwrap();
    assert!(patch.bytes.windows(9).any(|window| window == b"+changed\n"));
    worktrees.remove(&world.path("made"), crate::BranchFate::Drop).unwrap();
}

/// A program that leaves a canary in the world's `canaries`, then behaves as a filter.
fn trap(world: &World, name: &str) -> String {
    let canary = world.path("canaries").join(name);
    fs::create_dir_all(world.path("canaries")).unwrap();
    let path = world.write(
        &format!("traps/{name}"),
        format!("#!/bin/sh\ntouch '{}'\nexec cat\n", canary.display()),
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn canaries(world: &World) -> Vec<String> {
    let names = fs::read_dir(world.path("canaries")).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().display().to_string())
        .collect()
}

/// Plants every trap there is a place for, and commits attributes that ask for the filters.
fn planted() -> World {
    let world = World::new();
    let repository = world.repository("repo");
    world.write(
        "repo/.gitattributes",
        "* filter=evil diff=evil merge=evil\n*.txt filter=a.b=c\n",
    );
    world.write("repo/.gitignore", "ignored\n");
    world.write("repo/ignored", "x");
    world.commit("repo");
    let hooks = repository.git_directory.join("hooks");
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-commit",
        "post-merge",
        "fsmonitor-watchman",
        "pre-auto-gc",
        "post-rewrite",
    ] {
        let source = trap(&world, &format!("hook-{hook}"));
        fs::copy(source, hooks.join(hook)).unwrap();
    }
    let mut config = String::new();
    for (section, variable) in [
        ("filter \"evil\"", "clean"),
        ("filter \"evil\"", "smudge"),
        ("filter \"evil\"", "process"),
        ("filter \"a.b=c\"", "clean"),
        ("filter \"a.b=c\"", "smudge"),
        ("diff \"evil\"", "command"),
        ("diff \"evil\"", "textconv"),
        ("merge \"evil\"", "driver"),
        ("diff", "external"),
        ("core", "fsmonitor"),
        ("core", "pager"),
        ("core", "editor"),
        ("core", "askPass"),
        ("core", "sshCommand"),
        ("core", "gitProxy"),
        ("core", "alternateRefsCommand"),
        ("pager", "status"),
        ("pager", "config"),
        ("credential", "helper"),
        ("gpg", "program"),
        ("alias", "status"),
        ("alias", "rev-parse"),
        ("hook \"evil\"", "command"),
        ("remote \"origin\"", "uploadpack"),
        ("interactive", "diffFilter"),
    ] {
        let name = format!("config-{}-{variable}", section.replace(['"', ' '], "-"));
        config.push_str(&format!("[{section}]\n\t{variable} = \"{}\"\n", trap(&world, &name)));
    }
    config.push_str("[filter \"evil\"]\n\trequired = true\n[hook \"evil\"]\n\tevent = post-checkout\n");
    config.push_str("[submodule]\n\trecurse = true\n[diff]\n\tsubmodule = log\n[status]\n\tsubmoduleSummary = true\n");
    config.push_str("[protocol \"ext\"]\n\tallow = always\n[protocol]\n\tallow = always\n");
    let path = repository.git_directory.join("config");
    let plain = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{plain}{config}\n")).unwrap();
    world
}

/// The traps are live: a user's own Git runs into some of them. Without this the next test could pass on its own.
#[test]
fn plain_git_runs_into_the_traps() {
    let world = planted();
    // Another time, so that Git has to look at the content again.
    let modified = fs::File::options().write(true).open(world.path("repo/readme")).unwrap();
    modified.set_modified(std::time::UNIX_EPOCH).unwrap();
    for arguments in [["status", "--short"], ["diff", "HEAD"]] {
        // Some of the traps make Git fail, which is nothing to us.
        Command::new(world.git.program())
            .arguments(arguments)
            .directory(world.path("repo"))
            .capture(1024)
            .unwrap();
    }
    assert!(canaries(&world).len() >= 2, "{:?}", canaries(&world));
}

#[test]
fn nothing_the_repository_configures_runs() {
    let world = planted();
    let modified = fs::File::options().write(true).open(world.path("repo/readme")).unwrap();
    modified.set_modified(std::time::UNIX_EPOCH).unwrap();
    exercise(&world, "repo");
    assert_eq!(canaries(&world), Vec::<String>::new());
}

/// Configuration that is included only for the new worktree is unknown while the repository itself is looked at.
#[test]
fn a_filter_included_only_for_the_new_worktree_does_not_run() {
    let world = World::new();
    let repository = world.repository("repo");
    world.write("repo/.gitattributes", "* filter=late\n");
    world.commit("repo");
    let late = trap(&world, "late");
    let included = world.write(
        "included",
        format!("[filter \"late\"]\n\tsmudge = {late}\n\tclean = {late}\n"),
    );
    for condition in ["gitdir:**/worktrees/**", "onbranch:microcoder/**"] {
        let key = format!("includeIf.{condition}.path");
        run_in(&repository.top, &["config", &key, &included.display().to_string()]);
    }
    exercise(&world, "repo");
    assert_eq!(canaries(&world), Vec::<String>::new());
}

/// Git runs itself inside each submodule, under the submodule's own configuration.
#[test]
fn nothing_a_submodule_configures_runs() {
    let world = World::new();
    world.repository("inner");
    world.repository("repo");
    world.write("inner/.gitattributes", "* filter=inner\n");
    world.commit("inner");
    let inner = world.path("inner").display().to_string();
    world.run(
        "repo",
        &[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "add",
            &inner,
            "sub",
        ],
    );
    world.commit("repo");
    world.write("repo/sub/readme", "changed\n");
    let inside = trap(&world, "inside");
    for key in ["filter.inner.clean", "filter.inner.smudge", "core.fsmonitor"] {
        world.run("repo/sub", &["config", key, &inside]);
    }
    exercise(&world, "repo");
    assert_eq!(canaries(&world), Vec::<String>::new());
}

/// A remote that promised objects must not be asked for them: its transport is a program of the repository's choice.
#[test]
fn no_object_is_fetched() {
    let world = World::new();
    let repository = world.repository("repo");
    let asked = trap(&world, "asked");
    for (key, value) in [
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", &format!("ext::{asked}")),
        ("remote.origin.uploadpack", &asked),
        ("protocol.ext.allow", "always"),
        ("protocol.allow", "always"),
    ] {
        world.run("repo", &["config", key, value]);
    }
    let session = world.git.session(&repository.top).unwrap();
    let missing = "0123456789012345678901234567890123456789";
    assert_ne!(session.call(["cat-file", "-p", missing]).ask().unwrap().status, 0);
    assert_eq!(canaries(&world), Vec::<String>::new());
}

/// Variables of our own environment must not reach Git: this very test runs again in a process that has them.
#[test]
fn nothing_of_our_own_environment_steers_git() {
    const AGAIN: &str = "CODER_WORKSPACE_TEST_WORLD";
    let name = "git::tests::nothing_of_our_own_environment_steers_git";
    if let Some(path) = std::env::var_os(AGAIN) {
        let git = Git::find().unwrap();
        let repository = Repository::identify(&git, Path::new(&path)).unwrap();
        assert_eq!(repository.top, Path::new(&path));
        assert_eq!(repository.uncommitted(&git).unwrap().modified, ["readme".into()]);
        return;
    }
    let world = World::new();
    world.repository("repo");
    world.repository("other");
    world.write("repo/readme", "changed\n");
    let evil = trap(&world, "environment");
    let other = world.path("other/.git").display().to_string();
    let outcome = Command::new(std::env::current_exe().unwrap())
        .arguments(["--exact", name])
        .variables([
            (AGAIN, world.path("repo").display().to_string().as_str()),
            ("GIT_DIR", &other),
            ("GIT_WORK_TREE", &world.path("other").display().to_string()),
            ("GIT_INDEX_FILE", "/dev/null"),
            ("GIT_OBJECT_DIRECTORY", "/nonexistent"),
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", &evil),
            ("GIT_CONFIG_KEY_1", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_1", "/nonexistent"),
            ("GIT_CONFIG_PARAMETERS", "'core.pager=evil'"),
            ("GIT_EXTERNAL_DIFF", &evil),
            ("GIT_PAGER", &evil),
            ("PAGER", &evil),
            ("GIT_EXEC_PATH", "/nonexistent"),
            ("GIT_TRACE", &world.path("trace").display().to_string()),
            ("PATH", &world.path("traps").display().to_string()),
        ])
        .capture(1 << 16)
        .unwrap();
    let said = coder_digest::display_bytes(&outcome.stdout.head);
    assert!(outcome.success() && said.contains("1 passed"), "{said}");
    assert_eq!(canaries(&world), Vec::<String>::new());
    assert!(!world.path("trace").exists());
}

#[rstest]
#[case("filter.a.b=c.clean", &["filter.a.b=c.clean", "filter.a.b=c.smudge", "filter.a.b=c.process", "filter.a.b=c.required"])]
#[case("filter.lfs.required", &["filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process", "filter.lfs.required"])]
#[case("hook.x.command", &["hook.x.enabled"])]
#[case("protocol.ext.allow", &["protocol.ext.allow"])]
#[case("protocol.allow", &[])]
#[case("pager.diff", &["pager.diff"])]
#[case("user.name", &[])]
#[case("odd", &[])]
fn keys_that_name_programs_are_taken_out(#[case] key: &str, #[case] expected: &[&str]) {
    let keys: Vec<_> = neutral(key.as_bytes()).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, expected);
}

#[test]
fn an_answer_over_its_limit_is_cut_and_said_to_be() {
    let world = World::new();
    let repository = world.repository("repo");
    let session = world.git.session(&repository.top).unwrap();
    let answer = session.call(["cat-file", "-p", "HEAD"]).limit(4).ask().unwrap();
    assert_eq!((answer.output.as_slice(), answer.cut), (b"tree".as_slice(), true));
    let error = session.call(["cat-file", "-p", "HEAD"]).limit(4).output().unwrap_err();
    assert_eq!(error.code(), "git_answer");
}

#[test]
fn a_call_over_its_deadline_is_stopped() {
    let world = World::new();
    let repository = world.repository("repo");
    // Reading its input from a pipe nobody writes to, it would never end.
    let pipe = world.path("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let session = world.git.session(&repository.top).unwrap();
    let call = session.call(["hash-object", &pipe.display().to_string()]);
    assert_eq!(
        call.deadline(Duration::from_millis(50)).ask().unwrap_err().code(),
        "git_deadline"
    );
}

#[test]
fn a_failure_carries_what_git_said_in_one_line() {
    let world = World::new();
    let repository = world.repository("repo");
    let session = world.git.session(&repository.top).unwrap();
    let error = session.call(["rev-parse", "--verify", "nothing"]).output().unwrap_err();
    let expected = format!(
        "`git rev-parse` failed in `{}`: fatal: Needed a single revision",
        repository.top.display()
    );
    assert_eq!(error.to_string(), expected);
}

/// What Git said began with its advice on grafts, which only our own environment made it give, and the cause came after.
#[test]
fn a_failure_does_not_begin_with_advice() {
    let world = World::new();
    let repository = world.repository("repo");
    let session = world.git.session(&repository.top).unwrap();
    let head = world.run("repo", &["rev-parse", "HEAD"]);
    let call = || session.call(["commit-tree", "-p", "HEAD", "HEAD"]);
    let expected = format!("fatal: {} is not a valid 'tree' object", head.trim());
    assert_eq!(call().ask().unwrap().message, expected);
    // Not even said, so that it cannot push the cause out of what is kept of a long message.
    let outcome = coder_process::Command::new(world.git.program())
        .arguments(["log", "-1"])
        .variables(ENVIRONMENT)
        .variables([
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", OVERRIDES[20].0),
            ("GIT_CONFIG_VALUE_0", OVERRIDES[20].1),
        ])
        .directory(&repository.top)
        .capture(4096)
        .unwrap();
    assert_eq!((outcome.ending, outcome.stderr.head), (Ending::Exited(0), Vec::new()));
}

#[rstest]
#[case::hints("hint: a\nhint: b\nwarning: c\nfatal: d\nhint: e\n", "warning: c; fatal: d")]
#[case::only_hints("hint: a\n", "")]
#[case::control("fatal: \x1b[31m\n", "fatal: \\u{1b}[31m")]
#[case::long(&format!("first {}\nfatal: last", "x".repeat(395)), "fatal: last")]
#[case::one_long_line(&"x".repeat(500), &"x".repeat(400))]
fn the_end_of_what_git_says_counts(#[case] said: &str, #[case] expected: &str) {
    assert_eq!(one_line(said.as_bytes()), expected);
}
