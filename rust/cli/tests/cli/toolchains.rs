//! Real package managers with access `toolchains` (report 11): they find what the person's caches hold, believe that they
//! write there, and leave them byte for byte as they were.

use crate::world::{Call, World, differences};
use coder_digest::Digest;
use serde_json::{Value, json};

/// A world whose person has the tester's programs and a home of their own.
struct Person {
    world: World,
    path: String,
}

impl Person {
    fn new() -> Self {
        Self {
            world: World::empty(),
            path: std::env::var("PATH").unwrap(),
        }
    }

    /// As the person runs it, outside any boundary.
    #[track_caller]
    fn host(&self, directory: &str, program: &str, arguments: &[&str]) -> String {
        let seen = self
            .known(self.world.program(program).arguments(arguments))
            .inside(directory)
            .run();
        assert_eq!(
            seen.status, 0,
            "{program} {arguments:?}: {}{}",
            seen.stdout, seen.stderr
        );
        seen.stdout
    }

    /// Where the person's tools are, which their own variables lead to.
    fn known(&self, call: Call) -> Call {
        let home = std::env::var("HOME").unwrap();
        let place = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| format!("{home}/{usual}"));
        call.variable("PATH", &self.path)
            .variable("RUSTUP_HOME", &place("RUSTUP_HOME", ".rustup"))
            .variable("PYENV_ROOT", &place("PYENV_ROOT", ".pyenv"))
    }

    /// Runs a script with access to the toolchains and no network; what it printed, and how each cache was shown.
    #[track_caller]
    fn inside(&self, script: &str) -> (String, Value) {
        let report = self.world.text("tmp/report.json");
        let call = self.world.microcoder(&[
            "exec",
            "--access",
            "toolchains",
            "--network",
            "none",
            "--report",
            &report,
            "--",
            "sh",
            "-ec",
            script,
        ]);
        let seen = self.known(call).run();
        assert_eq!(seen.status, 0, "{script}: {}{}", seen.stdout, seen.stderr);
        let report: Value = serde_json::from_str(&self.world.read("tmp/report.json")).unwrap();
        assert_eq!(report["command_environment"]["source"], "toolchains");
        (seen.stdout, report["toolchains"]["caches"].clone())
    }
}

/// How the cache at this path of the home was shown.
fn method<'c>(caches: &'c Value, person: &Person, place: &str) -> &'c str {
    let path = json!(person.world.path("home").join(place));
    let mut found = caches.as_array().unwrap().iter().filter(|cache| cache["path"] == path);
    found.next().unwrap_or_else(|| panic!("no {place} in {caches}"))["method"]
        .as_str()
        .unwrap()
}

/// A registry on disk with one crate, as cargo reads it.
fn registry(person: &Person) {
    let world = &person.world;
    for name in ["leaf", "leaf/src", "index", "index/le", "index/le/af", "dl"] {
        world.directory(name);
    }
    world.write(
        "leaf/Cargo.toml",
        "[package]\nname = \"leaf\"\nversion = \"1.0.0\"\nedition = \"2021\"\nlicense = \"MIT\"\ndescription = \"a leaf\"\n",
    );
    world.write("leaf/src/lib.rs", "pub fn green() -> &'static str { \"green\" }\n");
    person.host(
        "leaf",
        "cargo",
        &["package", "--quiet", "--offline", "--no-verify", "--allow-dirty"],
    );
    let package = std::fs::read(world.path("leaf/target/package/leaf-1.0.0.crate")).unwrap();
    world.write("dl/leaf-1.0.0.crate", &package);
    let line = json!({ "name": "leaf", "vers": "1.0.0", "deps": [], "cksum": Digest::of(&package).hex(), "features": {}, "yanked": false });
    world.write("index/le/af/leaf", format!("{line}\n"));
    let download = format!("file://{}/{{crate}}-{{version}}.crate", world.text("dl"));
    world.write("index/config.json", json!({ "dl": download }).to_string());
    world.git("index", &["init", "--quiet", "--initial-branch=main"]);
    world.git("index", &["add", "--all"]);
    world.git("index", &["commit", "--quiet", "--message=leaf"]);
}

#[test]
fn report_11_cargo_builds_with_a_dependency_of_the_persons_registry_and_never_writes_there() {
    let person = Person::new();
    let world = &person.world;
    registry(&person);
    for name in ["work/src", "work/.cargo"] {
        world.directory(name);
    }
    let index = format!("[registries.disk]\nindex = \"file://{}\"\n", world.text("index"));
    world.write("work/.cargo/config.toml", index);
    world.write(
        "work/Cargo.toml",
        "[package]\nname = \"tree\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nleaf = { version = \"1\", registry = \"disk\" }\n",
    );
    world.write("work/src/main.rs", "fn main() { println!(\"{}\", leaf::green()) }\n");
    person.host("work", "cargo", &["fetch", "--quiet"]);
    // What cargo unpacks itself when it is missing.
    std::fs::remove_dir_all(world.path("home/.cargo/registry/src")).unwrap();
    world.write("home/.cargo/credentials.toml", "[registry]\ntoken = \"secret\"\n");
    let before = world.listing("home/.cargo");
    let script =
        "cargo run --quiet --offline; ls ~/.cargo/registry/src/*/leaf-1.0.0/src; ls ~/.cargo/credentials.toml || true";
    let (printed, caches) = person.inside(script);
    assert_eq!(printed, "green\nlib.rs\n");
    assert_eq!(differences(&before, &world.listing("home/.cargo")), [""; 0]);
    assert!(
        ["overlay", "linked"].contains(&method(&caches, &person, ".cargo/registry")),
        "{caches}"
    );
}

/// A wheel is a zip file; Python makes it.
const WHEEL: &str = r#"
import zipfile, hashlib, base64, os
os.makedirs("wheels")
files = {"leaf.py": "print('green')\n", "leaf-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: leaf\nVersion: 1.0\n",
         "leaf-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
record = "".join(f"{name},,\n" for name in files) + "leaf-1.0.dist-info/RECORD,,\n"
with zipfile.ZipFile("wheels/leaf-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in {**files, "leaf-1.0.dist-info/RECORD": record}.items():
        wheel.writestr(name, text)
"#;

#[test]
fn report_11_pip_installs_into_a_virtual_environment_and_never_writes_the_persons_cache() {
    let person = Person::new();
    let world = &person.world;
    for name in ["home/.cache", "home/.cache/pip", "home/.cache/pip/selfcheck"] {
        world.directory(name);
    }
    world.write("home/.cache/pip/selfcheck/known", "{}");
    person.host("work", "python3", &["-c", WHEEL]);
    let before = world.listing("home");
    let script = "python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check --no-index \
                  --find-links wheels leaf && .venv/bin/python -m leaf; cat ~/.cache/pip/selfcheck/known; echo; \
                  echo new >~/.cache/pip/new; mv ~/.cache/pip/selfcheck/known ~/.cache/pip/moved; rm -r ~/.cache/pip/selfcheck";
    let (printed, caches) = person.inside(script);
    assert_eq!(printed, "green\n{}\n");
    assert_eq!(differences(&before, &world.listing("home")), [""; 0]);
    assert!(
        ["overlay", "private"].contains(&method(&caches, &person, ".cache/pip")),
        "{caches}"
    );
}

#[test]
fn report_11_npm_installs_from_the_persons_cache_and_never_writes_it() {
    let person = Person::new();
    let world = &person.world;
    world.directory("leaf");
    world.write(
        "leaf/package.json",
        json!({ "name": "leaf", "version": "1.0.0", "main": "leaf.js" }).to_string(),
    );
    world.write("leaf/leaf.js", "console.log('green')\n");
    person.host(
        "leaf",
        "npm",
        &["pack", "--silent", "--pack-destination", &world.text("work")],
    );
    person.host("work", "npm", &["cache", "add", "--silent", "./leaf-1.0.0.tgz"]);
    world.write(
        "work/package.json",
        json!({ "name": "tree", "version": "1.0.0" }).to_string(),
    );
    let before = world.listing("home/.npm/_cacache");
    let script = "npm install --offline --no-audit --no-fund --silent ./leaf-1.0.0.tgz && node -e \"require('leaf')\" && \
                  npm cache verify --silent >/dev/null";
    let (printed, caches) = person.inside(script);
    assert_eq!(printed, "green\n");
    assert_eq!(differences(&before, &world.listing("home/.npm/_cacache")), [""; 0]);
    assert!(
        ["overlay", "private"].contains(&method(&caches, &person, ".npm/_cacache")),
        "{caches}"
    );
}

#[test]
fn what_one_command_of_a_run_put_into_a_cache_the_next_one_finds_and_the_person_does_not() {
    let person = Person::new();
    let world = &person.world;
    world.repository();
    let tree = world.worktree();
    for name in ["home/.cache", "home/.cache/uv"] {
        world.directory(name);
    }
    world.write("home/.cache/uv/known", "known\n");
    let before = world.listing("home");
    let commands = [
        "cat ~/.cache/uv/known; echo downloaded >~/.cache/uv/new; echo changed >~/.cache/uv/known",
        "cat ~/.cache/uv/known ~/.cache/uv/new",
        // A command may take its own home apart; nothing outside follows, and the next one starts.
        "mv ~/.cache ~/moved; ln -s /etc ~/.cache; ls ~/moved",
        "ls ~/.cache/uv 2>&1 || echo gone",
    ];
    let mut prepared = world.prepare(
        &tree,
        &[crate::world::reply(&commands, false), crate::world::reply(&[], true)],
    );
    prepared.grant["adapter_configuration"]["access"] = json!("toolchains");
    let task = person.known(prepared.call()).json();
    assert_eq!(task["run"]["result"]["ending"], "model_finished", "{task}");
    let view = world.task(&["view", "task-1"]).json();
    let outputs: Vec<&str> = view["evidence"]["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|step| step["observation"]["results"][0]["content"].as_str())
        .map(|output| output.trim_end().lines().last().unwrap_or_default())
        .collect();
    assert_eq!(outputs, ["known", "downloaded", "uv", "gone"]);
    assert_eq!(differences(&before, &world.listing("home")), [""; 0]);
    let trace = world.read("tasks/task-1.1.atif.jsonl");
    let admission = trace
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["step"]["extensions"].take())
        .find(|extensions| !extensions["admission"].is_null())
        .unwrap();
    assert_eq!(admission["command_environment"]["source"], "toolchains");
    let names = admission["command_environment"]["variables"].as_array().unwrap();
    assert!(names.contains(&json!("PATH")), "{names:?}");
    let uv = &admission["toolchains"]["caches"][0];
    assert_eq!(uv["place"], "/home/agent/.cache/uv", "{admission}");
    assert!(!world.path("tasks/scratch").exists());
}
