//! Wrong use, help, completions, and readers that stop reading.

use crate::repository::finished;
use crate::world::{Call, World};
use clap::CommandFactory as _;
use rstest::rstest;
use std::process::Stdio;

#[rstest]
#[case::nothing(&[])]
#[case::unknown(&["surprise"])]
#[case::unknown_flag(&["doctor", "--surprise"])]
#[case::no_grant(&["repository"])]
#[case::no_prompt(&["run"])]
#[case::two_prompts(&["run", "one", "--prompt-file", "two"])]
#[case::no_model(&["run", "one"])]
#[case::other_provider(&["run", "one", "--script", "x"])]
#[case::both(&["run", "one", "--provider", "scripted", "--script", "x", "--endpoint", "http://127.0.0.1:1"])]
#[case::no_script(&["run", "one", "--provider", "scripted"])]
#[case::twice(&["repository", "--grant", "a", "--grant", "b"])]
fn microcoder_used_wrongly_ends_in_2_and_prints_nothing(#[case] arguments: &[&str]) {
    let world = World::empty();
    let before = world.listing("");
    let seen = world.microcoder(arguments).run();
    assert_eq!((seen.status, seen.stdout.as_str()), (2, ""));
    let words =
        seen.stderr.contains("Usage: microcoder") || seen.stderr.contains("error: ") && seen.stderr.contains("--help");
    assert!(words, "{}", seen.stderr);
    assert_eq!(world.listing(""), before);
}

/// A status of 2 could be the command's own.
#[rstest]
#[case::no_command(&["exec"])]
#[case::flag(&["exec", "--surprise", "--", "true"])]
#[case::amount(&["exec", "--memory", "lots", "--", "true"])]
#[case::too_little(&["exec", "--memory", "1023K", "--", "true"])]
#[case::time(&["exec", "--timeout", "0", "--", "true"])]
fn exec_used_wrongly_ends_as_a_refusal(#[case] arguments: &[&str]) {
    let world = World::empty();
    let before = world.listing("");
    let seen = world.microcoder(arguments).run();
    assert_eq!((seen.status, seen.stdout.as_str()), (125, ""));
    assert!(seen.stderr.starts_with("error: "), "{}", seen.stderr);
    assert_eq!(world.listing(""), before);
}

#[rstest]
#[case::nothing(&[])]
#[case::unknown(&["task", "surprise"])]
#[case::no_file(&["task", "submit"])]
#[case::twice(&["task", "show", "a", "--store", "x", "--store", "y"])]
#[case::wrong_verb(&["task", "list", "--cursor", "x"])]
#[case::no_task(&["task", "view"])]
#[case::limit(&["task", "view", "task-1", "--limit", "0"])]
fn coder_used_wrongly_ends_in_64_and_prints_nothing(#[case] arguments: &[&str]) {
    let world = World::empty();
    let before = world.listing("");
    let seen = world.coder(arguments).run();
    assert_eq!((seen.status, seen.stdout.as_str()), (64, ""));
    let words =
        seen.stderr.contains("Usage: coder") || seen.stderr.contains("error: ") && seen.stderr.contains("--help");
    assert!(words, "{}", seen.stderr);
    assert_eq!(world.listing(""), before);
}

#[test]
fn a_task_name_that_cannot_be_is_a_wrong_use() {
    let world = World::new();
    finished(&world);
    assert_eq!(world.task(&["show", "../task-1"]).run().refused(64).0, "usage");
    assert_eq!(world.task(&["show", "task-2"]).run().refused(1).0, "not_found");
}

#[test]
fn files_that_cannot_be_read_or_are_no_commands() {
    let world = World::new();
    let submit = |file: &str| world.task(&["submit", "--file", file]).run().refused(1).0;
    assert_eq!(submit("/no/such/file"), "read_command");
    assert_eq!(submit("/tmp"), "read_command");
    assert_eq!(submit("/dev/zero"), "invalid_command");
    assert_eq!(submit("/dev/null"), "invalid_command");
    world.write("work/large", vec![b' '; 64 * 1024 + 1]);
    assert_eq!(submit("large"), "invalid_command");
    world.write("work/other", r#"{"schema":"openagents.coder.task-command.v9"}"#);
    assert_eq!(submit("other"), "unsupported_schema");
    let grant = |file: &str| world.microcoder(&["repository", "--grant", file]).run().refused(2).0;
    assert_eq!(
        [grant("/no/such/file"), grant("/tmp"), grant("/dev/zero")],
        ["read_grant", "read_grant", "grant_text"]
    );
    assert!(!world.path("tasks").exists(), "no refusal makes a store");
}

#[test]
fn without_a_home_the_store_must_be_named() {
    let world = World::new();
    let seen = world.coder(&["task", "list"]).without("HOME").run();
    assert_eq!(seen.refused(1).0, "configuration");
    world.prepare(&world.path("repo"), &[]);
    let named = world
        .coder(&["task", "list"])
        .without("HOME")
        .variable("MICROCODER_STORE", &world.text("tasks"));
    assert_eq!(named.json().as_array().unwrap().len(), 1);
    // The default, and one that counts from the current directory.
    assert_eq!(world.coder(&["task", "list"]).run().refused(1).0, "no_store");
    let relative = world.coder(&["task", "list", "--store", "../tasks"]).json();
    assert_eq!(relative.as_array().unwrap().len(), 1);
}

/// Every command line of a definition, `--help` not yet added.
fn every(definition: &clap::Command, above: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![above.to_vec()];
    for command in definition.get_subcommands() {
        let line = [above, &[command.get_name().to_owned()]].concat();
        all.extend(every(command, &line));
    }
    all
}

/// Calls one of the two programs.
type Program = fn(&World, &[&str]) -> Call;

#[test]
fn every_command_has_help_on_standard_output() {
    let world = World::empty();
    let programs: [(clap::Command, Program); 2] = [
        (coder_cli::Microcoder::command(), World::microcoder),
        (coder_cli::Coder::command(), World::coder),
    ];
    for (definition, program) in programs {
        let lines = every(&definition, &[]);
        assert!(lines.len() > 5, "{lines:?}");
        for line in lines {
            let seen = program(&world, &[]).arguments(&line).arguments(&["--help"]).run();
            assert!(seen.printed().contains("Usage: "), "{line:?}");
            assert_eq!(seen.stderr, "");
        }
        let version = program(&world, &["--version"]).run();
        assert_eq!(
            version.printed(),
            format!("{} {}\n", definition.get_name(), env!("CARGO_PKG_VERSION"))
        );
    }
}

#[rstest]
fn completions_are_scripts(#[values("bash", "zsh", "fish", "elvish", "powershell")] shell: &str) {
    let world = World::empty();
    for (name, call) in [
        ("microcoder", world.microcoder(&["completions", shell])),
        ("coder", world.coder(&["completions", shell])),
    ] {
        let seen = call.run();
        assert!(seen.printed().contains(name));
        if shell == "bash" {
            let script = world.write("work/completion", &seen.stdout);
            let sourced = format!(". {} && complete -p {name}", script.display());
            let checked = world.microcoder(&["exec", "--", "bash", "-c", &sourced]).run();
            assert!(checked.printed().ends_with(&format!(" {name}\n")), "{}", checked.stdout);
        }
    }
}

/// A standard output whose reader is gone.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn output_that_nobody_reads_to_its_end_is_no_failure() {
    let world = World::new();
    finished(&world);
    let task: [&[&str]; 7] = [
        &["list"],
        &["show", "task-1"],
        &["view", "task-1"],
        &["export", "task-1"],
        &["verify", "task-1"],
        &["artifact", "task-1", "--path", "notes.txt"],
        &["submit", "--file", "../submit.json"],
    ];
    let calls = task.iter().map(|arguments| world.task(arguments));
    let others = [
        world.microcoder(&["doctor"]),
        world.microcoder(&["--help"]),
        world.microcoder(&["completions", "bash"]),
        world.coder(&["task", "--help"]),
        world.microcoder(&["demo"]),
    ];
    for call in calls.chain(others) {
        let seen = call.stdout(closed()).run();
        assert_eq!((seen.status, seen.stderr.as_str()), (0, ""));
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let world = World::new();
    finished(&world);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let seen = world.task(&["view", "task-1"]).stdout(full.into()).run();
    assert_eq!(seen.refused(1).0, "output");
}

#[test]
fn the_doctor_says_that_this_machine_can_run_agents() {
    let world = World::empty();
    let diagnosis = world.microcoder(&["doctor", "--json"]).json();
    assert_eq!(diagnosis["ready"], true);
    let items = diagnosis["items"].as_array().unwrap();
    for item in items {
        let gap = item["standing"] != "ready" && item["name"] != "decisions";
        assert_eq!(item.get("fix").is_some(), gap, "{item}");
    }
    let names: Vec<&str> = items.iter().map(|item| item["name"].as_str().unwrap()).collect();
    for name in [
        "git",
        "shell",
        "codex",
        "claude",
        "anthropic",
        "openai",
        "scripted",
        "decisions",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(
        world
            .microcoder(&["doctor"])
            .run()
            .printed()
            .ends_with("This machine can run agents.\n")
    );
}
