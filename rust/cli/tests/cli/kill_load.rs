//! `kill -9` of owners and of clients at random moments, many at once. Afterwards every task reaches a final state by
//! `coder task recover` alone, everything that was kept verifies or says what is missing, and no process of any run is left.
//!
//! `MICROCODER_LOAD_KILLS` says how often (60 unless it says otherwise), `MICROCODER_SEED` repeats the moments of a failure.

use crate::world::{World, reply, scripted};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

/// How many tasks run at once in one round.
const AT_ONCE: usize = 4;
/// The bound of a moment.
const MOMENT: Duration = Duration::from_millis(400);

/// A small generator (xorshift), so that a seed repeats a failure.
struct Moments(u64);

impl Moments {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn moment(&mut self) -> Duration {
        Duration::from_micros(self.next() % u64::try_from(MOMENT.as_micros()).unwrap())
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn owners_and_clients_that_are_killed_under_load_leave_nothing_open() {
    let kills = number("MICROCODER_LOAD_KILLS").unwrap_or(60);
    let seed = number("MICROCODER_SEED").unwrap_or_else(|| u64::from(std::process::id()) << 20 | 0x9e37);
    let mut moments = Moments(seed | 1);
    let world = World::new();
    let mut states: BTreeMap<String, u64> = BTreeMap::new();
    let (mut killed, mut round) = (0, 0);
    while killed < kills {
        killed += one_round(&world, round, &mut moments);
        round += 1;
    }
    for task in world.task(&["list"]).json().as_array().unwrap() {
        let name = task["task_id"].as_str().unwrap();
        let closed = world.task(&["recover", name]).run();
        let task = closed.json(0);
        let result = &task["run"]["result"];
        let state = (task["status"].as_str().unwrap(), result["ending"].as_str());
        let honest = match state {
            ("queued" | "cancelled", None) => true,
            ("finished", Some("owner_process_ended")) => result["group_clear"] == true && result["cleanup"].is_string(),
            ("finished", Some(_)) => result["group_clear"] == true,
            _ => false,
        };
        assert!(honest, "seed {seed}: {task:#}");
        let verification = world.task(&["verify", name]).run();
        let verification: Value = serde_json::from_str(&verification.stdout).unwrap();
        assert_ne!(verification["verdict"], "mismatch", "seed {seed}: {verification:#}");
        *states
            .entry(format!("{} {}", state.0, state.1.unwrap_or("-")))
            .or_default() += 1;
    }
    println!("seed {seed}: {killed} kills in {round} rounds: {states:?}");
    assert!(
        states.contains_key("finished owner_process_ended") || kills < 20,
        "no kill met a run under way: {states:?}"
    );
    assert_eq!(left(&world), Vec::<String>::new(), "seed {seed}");
}

/// Some tasks at once, each with a tree of its own: an owner is started for each, clients look and write beside them, and all
/// are killed, each at its moment. Returns how many kills there were.
fn one_round(world: &World, round: u64, moments: &mut Moments) -> u64 {
    let names: Vec<String> = (0..AT_ONCE).map(|place| format!("task-{round}-{place}")).collect();
    let owners: Vec<_> = names.iter().map(|name| owner(world, name, moments)).collect();
    let mut killed = 0;
    let mut clients = Vec::new();
    for (owner, name) in owners.into_iter().zip(&names) {
        clients.push(client(world, name, moments).start());
        let over = owner.ends_within(moments.moment());
        let below = if over { Vec::new() } else { owner.freeze() };
        owner.signal_if_alive(Signal::KILL);
        killed += u64::from(!over);
        let seen = owner.wait();
        // A cancel may come before the admission, and the grant is refused then; nothing else ends an owner early.
        let early = ["not_queued", "revision_mismatch"]
            .iter()
            .any(|code| seen.stderr.contains(code));
        assert!(
            !over || seen.status == 0 || early,
            "{name}: {} {}",
            seen.status,
            seen.stderr
        );
        for process in below {
            crate::world::wait_readable(process, "a process outlived its run");
        }
    }
    for client in clients {
        killed += u64::from(!client.ends_within(moments.moment() / 8));
        client.signal_if_alive(Signal::KILL);
        client.wait();
    }
    killed
}

/// The owner of a new task that does a few steps, some of them long.
fn owner(world: &World, name: &str, moments: &mut Moments) -> crate::world::Started {
    let tree = world.path(name);
    world.git(
        "repo",
        &["worktree", "add", "--quiet", "--detach", tree.to_str().unwrap()],
    );
    let bounded = moments.next().is_multiple_of(4);
    let long = "echo begun >>notes.txt; setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 1000; done' & sleep 0.1; echo step >>notes.txt";
    if bounded {
        world.submit_as(name, &format!("submit-{name}"), &tree, ("bounded-command", None));
        let grant = grant(world, name, &["-c", long], json!(null));
        world.task(&["execute", "--grant", &grant]).start()
    } else {
        let model = crate::world::MODEL;
        world.submit_as(
            name,
            &format!("submit-{name}"),
            &tree,
            ("microcoder-repository", Some(model)),
        );
        let turns: Vec<Value> = [
            reply(&[long], false),
            reply(&[long, "git add -A"], false),
            reply(&[], true),
        ]
        .map(|reply| json!({ "reply": reply }))
        .into();
        let script = json!({ "schema": "openagents.microcoder.script.v1", "turns": turns }).to_string();
        let path = world.write(&format!("{name}.script.json"), &script);
        let grant = grant(world, name, &[], scripted(path.to_str().unwrap(), &script));
        world
            .microcoder(&["repository", "--grant", &grant, "--store", &world.text("tasks")])
            .start()
    }
}

/// Writes the grant that fits the task, and names its file.
fn grant(world: &World, name: &str, arguments: &[&str], configuration: Value) -> String {
    let grant = world.grant(name, arguments, configuration);
    let file = world.write(&format!("{name}.grant.json"), grant.to_string());
    file.to_str().unwrap().to_owned()
}

/// A client that looks at the task or writes to it, while its owner runs.
fn client(world: &World, name: &str, moments: &mut Moments) -> crate::world::Call {
    match moments.next() % 5 {
        0 => world.task(&["view", name]),
        1 => world.task(&["steer", name, "--message", "Hurry."]),
        2 => world.task(&["recover", name]),
        3 => world.task(&["verify", name]),
        _ => {
            let shown = world.task(&["show", name]).json();
            let command = json!({
                "schema": "openagents.coder.task-command.v1",
                "command_id": format!("cancel-{name}"),
                "task_id": name,
                "expected_revision": shown["revision"],
                "action": { "type": "cancel", "reason": "not needed any more" },
            });
            let file = world.write(&format!("{name}.cancel.json"), command.to_string());
            world.task(&["cancel", "--file", file.to_str().unwrap()])
        }
    }
}

/// Every process that still works in a tree of this world, by its directory.
fn left(world: &World) -> Vec<String> {
    let base = world.path("");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().to_str().unwrap().to_owned();
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // A process may end while it is looked at, and some are not ours to look at.
        let works_here = fs::read_link(entry.path().join("cwd")).is_ok_and(|place| place.starts_with(&base));
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let names_us = command
            .windows(base.as_os_str().len())
            .any(|part| part == base.as_os_str().as_encoded_bytes());
        if works_here || names_us {
            found.push(format!("{pid}: {}", command.escape_ascii()));
        }
    }
    found
}
