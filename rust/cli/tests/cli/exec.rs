//! `microcoder exec`: statuses, streams, options and the report.

use crate::world::{Gate, User, World};
use rstest::rstest;
use serde_json::{Value, json};

#[rstest]
#[case::well("exit 0", 0)]
#[case::own("exit 3", 3)]
#[case::largest("exit 255", 255)]
#[case::signal("kill -9 $$", 137)]
#[case::abort("kill -ABRT $$", 134)]
fn the_status_is_the_commands(#[case] script: &str, #[case] status: i32) {
    let world = World::empty();
    let seen = world.microcoder(&["exec", "--", "/bin/sh", "-c", script]).run();
    assert_eq!((seen.status, seen.stdout.as_str()), (status, ""), "{}", seen.stderr);
}

#[test]
fn streams_pass_through_untouched() {
    let world = World::empty();
    let input: Vec<u8> = (0..100_000_u32)
        .flat_map(|number| format!("{number}\n").into_bytes())
        .collect();
    let text = String::from_utf8(input.clone()).unwrap();
    let seen = world.microcoder(&["exec", "--", "cat"]).input(input).run();
    assert_eq!((seen.status, seen.stderr.as_str()), (0, ""));
    assert!(seen.stdout == text, "the bytes changed on their way");
    let seen = world
        .microcoder(&["exec", "--", "sh", "-c", "echo out; echo err >&2"])
        .run();
    assert_eq!(
        (seen.status, seen.stdout.as_str(), seen.stderr.as_str()),
        (0, "out\n", "err\n")
    );
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let world = World::empty();
    let mut gate = crate::world::Gate::at(&world.path("work/gate"));
    let script = "setsid sleep 1000 & echo ready >gate; sleep 1000";
    let running = world
        .microcoder(&["exec", "--timeout", "2s", "--", "sh", "-c", script])
        .start();
    gate.wait(&running);
    let below = running.freeze();
    running.signal(rustix::process::Signal::CONT);
    let seen = running.wait();
    assert_eq!((seen.status, seen.stdout.as_str()), (124, ""));
    assert!(below.len() >= 3);
    for process in below {
        crate::world::wait_readable(process, "a process outlived its command");
    }
}

#[test]
fn listed_hosts_are_reached_and_every_connection_is_in_the_report() {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut seen = vec![0; 16];
        client.read_exact(&mut seen).unwrap();
        client
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes")
            .unwrap();
        seen
    });
    let world = World::empty();
    let network = format!("allow:127.0.0.1:{port},unknown.invalid:1");
    let script = format!(
        "curl --silent --show-error http://127.0.0.1:{port}/; curl --silent --fail http://127.0.0.2:{port}/; echo $?"
    );
    let report = world.text("report.json");
    let seen = world
        .microcoder(&["exec", "--network", &network, "--report", &report])
        .arguments(&["--", "sh", "-c", &script])
        .run();
    assert_eq!((seen.status, seen.stdout.as_str()), (0, "yes22\n"), "{}", seen.stderr);
    assert_eq!(
        seen.stderr,
        format!("microcoder: network: 127.0.0.2:{port} refused: not on the list of allowed hosts\n")
    );
    assert_eq!(server.join().unwrap(), b"GET / HTTP/1.1\r\n");
    let report: Value = serde_json::from_str(&world.read("report.json")).unwrap();
    assert_eq!(report["enforced"]["network"], json!("listed"));
    let listed: Vec<Value> = report["connections"]["listed"].as_array().unwrap().clone();
    let shown: Vec<Value> = listed
        .iter()
        .map(|one| {
            json!([
                one["host"],
                one["port"],
                one["verdict"],
                one["rule"],
                one["received_bytes"]
            ])
        })
        .collect();
    let rule = format!("127.0.0.1:{port}");
    let received = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes".len();
    assert_eq!(
        shown,
        [
            json!(["127.0.0.1", port, "allowed", rule, received]),
            json!(["127.0.0.2", port, "refused", null, 0]),
        ]
    );
}

#[rstest]
#[case::no_port("allow:example.org")]
#[case::user("allow:user@example.org:443")]
#[case::unknown("some")]
fn a_network_that_is_none_is_refused(#[case] network: &str) {
    let world = World::empty();
    let seen = world.microcoder(&["exec", "--network", network, "--", "true"]).run();
    assert_eq!((seen.status, seen.stdout.as_str()), (125, ""), "{}", seen.stderr);
    assert!(seen.stderr.contains("network"), "{}", seen.stderr);
}

#[rstest]
#[case::missing_program(&["--", "/no/such/program"], "program_not_found")]
#[case::missing_name(&["--", "no-such-program"], "program_not_found")]
#[case::no_program(&["--", "/etc/passwd"], "program_not_executable")]
#[case::missing_directory(&["--write", "/no/such/directory", "--", "true"], "path_unusable")]
#[case::missing_read(&["--read", "/no/such/directory", "--", "true"], "path_unusable")]
#[case::reserved(&["--write", "/etc", "--", "true"], "path_reserved")]
#[case::variable(&["--env", "novalue", "--", "true"], "usage")]
fn what_cannot_be_run_is_refused(#[case] arguments: &[&str], #[case] code: &str) {
    let world = World::empty();
    let before = world.listing("");
    let (found, message) = world.microcoder(&["exec"]).arguments(arguments).run().refused(125);
    assert_eq!(found, code, "{message}");
    assert!(
        message.contains(
            arguments
                .iter()
                .find(|word| word.contains('/') || word.contains("no"))
                .unwrap()
        ),
        "{message}"
    );
    assert_eq!(crate::world::differences(&before, &world.listing("")), [""; 0]);
}

#[test]
fn grants_are_what_they_say() {
    let world = World::empty();
    let (write, read) = (world.directory("written"), world.directory("readable"));
    world.write("readable/file", "read\n");
    let (write, read) = (write.to_str().unwrap().to_owned(), read.to_str().unwrap().to_owned());
    let script = format!(
        "cat {read}/file; echo x >{read}/new || echo refused; echo y >{write}/new; echo z >new || echo refused; printenv NAME; env | wc -l"
    );
    let seen = world
        .microcoder(&[
            "exec",
            "--write",
            &write,
            "--read",
            &read,
            "--read-only",
            "--env",
            "NAME=a=b",
            "--",
            "sh",
            "-c",
            &script,
        ])
        .variable("OPENAI_API_KEY", "canary")
        .run();
    let lines: Vec<&str> = seen.printed().lines().collect();
    assert_eq!(&lines[..4], ["read", "refused", "refused", "a=b"]);
    assert_eq!(
        (world.read("written/new").as_str(), world.path("work/new").exists()),
        ("y\n", false)
    );
    let environment = world
        .microcoder(&["exec", "--", "env"])
        .variable("OPENAI_API_KEY", "canary")
        .run();
    assert!(!environment.printed().contains("canary"), "{}", environment.stdout);
    let tree = world.microcoder(&[
        "exec",
        "--write",
        "../written",
        "--",
        "sh",
        "-c",
        &format!("ls {write}"),
    ]);
    assert_eq!(
        tree.run().printed(),
        "new\n",
        "a relative grant counts from the current directory"
    );
}

#[test]
fn the_store_of_the_user_stays_out_of_reach_even_of_a_command_in_the_home_directory() {
    let world = World::new();
    world.directory("home/.openagents");
    world.directory("home/.openagents/tasks");
    world.write("home/.openagents/tasks/journal", "private");
    let seen = world
        .microcoder(&["exec", "--read-only", "--", "sh", "-c", "cat .openagents/tasks/journal"])
        .inside("home")
        .run();
    assert_ne!(seen.status, 0, "{}", seen.stdout);
    assert_eq!(seen.stdout, "");
    world.directory("elsewhere");
    world.write("elsewhere/journal", "private");
    let elsewhere = world.text("elsewhere");
    let named = world
        .microcoder(&[
            "exec",
            "--read",
            &world.text(""),
            "--read-only",
            "--",
            "cat",
            &world.text("elsewhere/journal"),
        ])
        .variable("MICROCODER_STORE", &elsewhere)
        .run();
    assert_ne!(named.status, 0, "{}", named.stdout);
    assert_eq!(named.stdout, "");
}

#[test]
fn the_directory_for_temporary_files_can_be_granted_by_any_of_its_names() {
    let world = World::empty();
    let detour = format!("{}/../tmp", world.text("tmp"));
    let script = format!("echo x >{}/new && ls -A {}", world.text("tmp"), world.text("tmp"));
    let seen = world
        .microcoder(&["exec", "--write", &detour, "--", "sh", "-c", &script])
        .run();
    assert_eq!(seen.printed(), "new\n");
}

#[test]
fn a_bound_of_memory_holds() {
    let world = World::empty();
    let allocate = "x = bytearray(300 << 20); print('had it')";
    let bounded = world
        .microcoder(&["exec", "--memory", "200M", "--", "/usr/bin/python3", "-c", allocate])
        .run();
    // Ended by the kernel where a control group counts, else told by a failed allocation.
    let grouped = bounded.stderr.contains("microcoder: out of memory");
    assert_eq!(
        (bounded.status, bounded.stdout.as_str()),
        (if grouped { 137 } else { 1 }, "")
    );
    let free = world
        .microcoder(&["exec", "--memory", "2G", "--", "/usr/bin/python3", "-c", allocate])
        .run();
    assert_eq!(free.printed(), "had it\n");
}

#[test]
fn the_report_says_how_it_ended_and_what_held_it() {
    let world = World::empty();
    let report = world.text("tmp/report.json");
    let seen = world
        .microcoder(&[
            "exec", "--report", &report, "--memory", "1G", "--", "sh", "-c", "exit 4",
        ])
        .run();
    assert_eq!((seen.status, seen.stdout.as_str(), seen.stderr.as_str()), (4, "", ""));
    let mut found: Value = serde_json::from_str(&world.read("tmp/report.json")).unwrap();
    assert!(found["seconds"].take().as_f64().unwrap() > 0.0);
    assert!(found["usage"].take()["cpu_seconds"].as_f64().unwrap() > 0.0);
    // How many processes one user may have is not held against root.
    found["enforced"]["process_count"] = Value::Null;
    assert!(found["enforced"]["landlock"].take().as_u64().unwrap() >= 1);
    // Memory is counted together where this user may make control groups.
    let group = found["enforced"]["group"].clone();
    let (memory, counted) = if group.is_null() {
        (json!({ "per_process": 1_073_741_824 }), Value::Null)
    } else {
        (json!({ "together": 1_073_741_824 }), json!(false))
    };
    let expected = json!({
        "schema": "openagents.microcoder.exec-report.v1",
        "ending": "exited",
        "exit": 4,
        "death": { "exited": 4 },
        "group_clear": true,
        "proof": "process_namespace_ended",
        "seconds": null,
        "usage": null,
        "enforced": {
            "access": "boundary",
            "root": "assembled",
            "users": "own",
            "mounts": "own",
            "processes": "own",
            "ipc": "own",
            "host_name": "own",
            "network": "loopback",
            "abstract_sockets": "own",
            "capabilities": "dropped",
            "new_privileges": "dropped",
            "system_calls": "filtered",
            "landlock": null,
            "memory": memory,
            "process_count": null,
            "level": "complete",
            "signals": "own",
            "debugger": "refused",
            "nested_namespaces": "refused",
            "open_files": { "per_process": 4096 },
            "file_bytes": "none",
            "cpu_seconds": "none",
            "scratch": "none",
            "group": group,
        },
        "out_of_memory": counted,
        "out_of_processes": counted,
        "out_of_scratch": null,
        "appeared": [],
    });
    assert_eq!(found, expected);
    // A report that cannot be written refuses before the command is run.
    for place in ["/no/such/place", "/dev/null"] {
        let seen = world
            .microcoder(&["exec", "--report", place, "--", "sh", "-c", "echo ran"])
            .run();
        assert_eq!(seen.refused(125).0, "io");
    }
}

#[test]
fn a_report_in_the_workspace_cannot_be_led_out_of_it() {
    let world = World::empty();
    world.write("outside", "kept");
    let script = format!("ls -A; ln -s {} report.json", world.text("outside"));
    let seen = world
        .microcoder(&["exec", "--report", "report.json", "--", "sh", "-c", &script])
        .run();
    assert_eq!((seen.printed(), world.read("outside").as_str()), ("", "kept"));
    assert!(world.read("work/report.json").contains("exec-report.v1"));
}

#[test]
fn what_git_would_obey_is_told_when_it_appears() {
    let world = World::new();
    let script = "mkdir -p .git/modules && echo x >.git/modules/x";
    let seen = world
        .microcoder(&["exec", "--", "sh", "-c", script])
        .inside("repo")
        .run();
    assert_eq!(seen.status, 0, "{}", seen.stderr);
    assert_eq!(
        seen.stderr,
        format!(
            "microcoder: {}/repo/.git/modules appeared; Git would obey it\n",
            world.text("")
        )
    );
}

#[test]
fn no_boundary_is_said_to_be_none() {
    let world = World::empty();
    let report = world.text("tmp/report.json");
    let seen = world.microcoder(&[
        "exec",
        "--access",
        "full",
        "--report",
        &report,
        "--",
        "sh",
        "-c",
        "cat ../outside",
    ]);
    world.write("outside", "seen\n");
    assert_eq!(seen.run().printed(), "seen\n");
    let found: Value = serde_json::from_str(&world.read("tmp/report.json")).unwrap();
    let words: Vec<&Value> = ["access", "root", "network", "system_calls"]
        .iter()
        .map(|name| &found["enforced"][name])
        .collect();
    assert_eq!(words, ["full", "host", "host", "unfiltered"]);
}

/// It ended with 125 and not one word.
#[test]
fn a_command_whose_supervisor_was_killed_is_told() {
    let world = World::of(User::Same);
    let mut gate = Gate::at(&world.path("work/gate"));
    let running = world
        .microcoder(&["exec", "--", "sh", "-c", "echo ready >gate; exec sleep 1000"])
        .start();
    gate.wait(&running);
    let below = running.freeze();
    rustix::process::pidfd_send_signal(&below[0], rustix::process::Signal::KILL).unwrap();
    running.signal(rustix::process::Signal::CONT);
    let seen = running.wait();
    assert_eq!(
        (seen.status, seen.stderr.as_str()),
        (
            125,
            "microcoder: how the command ended is not known: the process that held it was ended from outside\n"
        )
    );
}
