use super::*;
use proptest::prelude::*;
use rstest::rstest;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path};

/// What a described path is.
#[derive(Debug, Clone, PartialEq)]
enum Node {
    Directory,
    File(String),
    Link(PathBuf),
}

/// A host that exists only as a list of paths. Parents are made as needed; links are resolved as a kernel does.
#[derive(Debug, Default)]
struct ToldHost(BTreeMap<PathBuf, Node>);

impl ToldHost {
    /// `/a/b/` is a directory, `/a/b` a file, `/a -> /b` a link, `/a = text` a file with text.
    fn of(lines: &[&str]) -> Self {
        let mut host = Self::default();
        host.put(PathBuf::from("/"), Node::Directory);
        for line in lines {
            if let Some((path, target)) = line.split_once(" -> ") {
                host.put(path.into(), Node::Link(target.into()));
            } else if let Some((path, text)) = line.split_once(" = ") {
                host.put(path.into(), Node::File(text.into()));
            } else if let Some(path) = line.strip_suffix('/') {
                host.put(path.into(), Node::Directory);
            } else {
                host.put((*line).into(), Node::File(String::new()));
            }
        }
        host
    }

    fn put(&mut self, path: PathBuf, node: Node) {
        for parent in path.ancestors().skip(1) {
            self.0.entry(parent.to_owned()).or_insert(Node::Directory);
        }
        self.0.insert(path, node);
    }

    fn resolve(&self, path: &Path, links: u32) -> Option<PathBuf> {
        let mut resolved = PathBuf::new();
        let mut rest = path.components();
        while let Some(component) = rest.next() {
            match component {
                Component::RootDir => resolved = PathBuf::from("/"),
                Component::ParentDir => {
                    resolved.pop();
                }
                Component::CurDir | Component::Prefix(_) => {}
                Component::Normal(name) => {
                    let here = resolved.join(name);
                    match self.0.get(&here)? {
                        Node::Directory | Node::File(_) => resolved = here,
                        Node::Link(target) if links < 40 => {
                            return self.resolve(&resolved.join(target).join(rest.as_path()), links + 1);
                        }
                        Node::Link(_) => return None,
                    }
                }
            }
        }
        Some(resolved)
    }

    fn node(&self, path: &Path) -> Option<&Node> {
        self.0.get(&self.resolve(path, 0)?)
    }
}

impl HostView for ToldHost {
    fn canonicalise(&self, path: &Path) -> Option<PathBuf> {
        self.resolve(path, 0)
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.node(path) == Some(&Node::Directory)
    }

    fn read_link(&self, path: &Path) -> Option<PathBuf> {
        let path = self.resolve(path.parent()?, 0)?.join(path.file_name()?);
        match self.0.get(&path)? {
            Node::Link(target) => Some(target.clone()),
            Node::Directory | Node::File(_) => None,
        }
    }

    fn list_directory(&self, path: &Path) -> Vec<OsString> {
        let Some(path) = self.resolve(path, 0) else {
            return Vec::new();
        };
        let inside = self.0.keys().filter(|key| key.parent() == Some(&path));
        inside.filter_map(|key| Some(key.file_name()?.to_owned())).collect()
    }

    fn read_text(&self, path: &Path) -> Option<String> {
        match self.node(path)? {
            Node::File(text) => Some(text.clone()),
            Node::Directory | Node::Link(_) => None,
        }
    }
}

fn linux(environment: &[(&str, &str)]) -> Described {
    described(System::Linux, "/home/ada", environment)
}

fn mac(environment: &[(&str, &str)]) -> Described {
    described(System::MacOs, "/Users/ada", environment)
}

fn described(system: System, home: &str, environment: &[(&str, &str)]) -> Described {
    Described::read(system, Some(home.into()), |name| {
        let given = environment.iter().find(|(key, _)| *key == name);
        given
            .map(|(_, value)| OsString::from(value))
            .or_else(|| (name == "HOME").then(|| home.into()))
    })
}

fn reads(toolchains: &Toolchains) -> Vec<(&str, Source)> {
    let entries = toolchains.reads.iter();
    entries
        .map(|entry| (entry.path.to_str().unwrap(), entry.source))
        .collect()
}

fn paths(toolchains: &Toolchains) -> Vec<&str> {
    toolchains.path.iter().map(|path| path.to_str().unwrap()).collect()
}

fn names(toolchains: &Toolchains) -> Vec<&str> {
    toolchains
        .reads
        .iter()
        .map(|entry| entry.path.to_str().unwrap())
        .collect()
}

#[rstest]
#[case::homebrew(&["/home/linuxbrew/.linuxbrew/bin/"], &[("/home/linuxbrew/.linuxbrew", Source::Homebrew)])]
#[case::rustup(&["/home/ada/.rustup/toolchains/"], &[("/home/ada/.rustup", Source::Rustup)])]
#[case::cargo(
    &["/home/ada/.cargo/bin/", "/home/ada/.cargo/registry/", "/home/ada/.cargo/git/", "/home/ada/.cargo/credentials.toml"],
    &[("/home/ada/.cargo/bin", Source::Cargo), ("/home/ada/.cargo/git", Source::Cargo), ("/home/ada/.cargo/registry", Source::Cargo)]
)]
#[case::node(
    &["/home/ada/.nvm/versions/node/", "/home/ada/.npm/_cacache/", "/home/ada/.npm/_logs/"],
    &[("/home/ada/.npm/_cacache", Source::Node), ("/home/ada/.nvm/versions", Source::Node)]
)]
#[case::python(
    &["/home/ada/.pyenv/shims/", "/home/ada/.local/share/uv/", "/home/ada/.cache/uv/", "/home/ada/.cache/pip/", "/home/ada/.cache/other/"],
    &[("/home/ada/.cache/pip", Source::Python), ("/home/ada/.cache/uv", Source::Python),
      ("/home/ada/.local/share/uv", Source::Python), ("/home/ada/.pyenv", Source::Python)]
)]
#[case::go(&["/home/ada/go/bin/", "/home/ada/go/pkg/mod/", "/home/ada/go/src/"],
    &[("/home/ada/go/bin", Source::Go), ("/home/ada/go/pkg/mod", Source::Go)])]
#[case::bun(&["/home/ada/.bun/"], &[("/home/ada/.bun", Source::Bun)])]
#[case::deno(&["/home/ada/.deno/", "/home/ada/.cache/deno/"],
    &[("/home/ada/.cache/deno", Source::Deno), ("/home/ada/.deno", Source::Deno)])]
#[case::nix(
    &["/nix/store/x-profile/", "/nix/var/nix/profiles/", "/nix/var/nix/db/", "/run/current-system -> /nix/store/x-profile",
      "/etc/profiles/per-user/", "/etc/static/", "/home/ada/.nix-profile -> /nix/var/nix/profiles"],
    &[("/etc/profiles/per-user", Source::Nix), ("/etc/static", Source::Nix), ("/nix/store", Source::Nix), ("/nix/var/nix/profiles", Source::Nix)]
)]
#[case::opt(&["/opt/tool/bin/"], &[("/opt", Source::Linux)])]
#[case::resolver(
    &["/etc/resolv.conf -> ../run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/stub-resolv.conf"],
    &[("/run/systemd/resolve", Source::Linux)]
)]
#[case::resolver_is_a_file(&["/etc/resolv.conf"], &[])]
#[case::rows_of_macos(&["/opt/homebrew/", "/usr/local/", "/Library/Developer/CommandLineTools/", "/Applications/Xcode.app/"], &[("/opt", Source::Linux)])]
fn each_row_on_linux(#[case] host: &[&str], #[case] expected: &[(&str, Source)]) {
    assert_eq!(reads(&derive(&linux(&[]), &ToldHost::of(host))), expected);
}

#[rstest]
#[case::selected(
    &["/private/var/db/xcode_select_link -> /Applications/Xcode-26.app/Contents/Developer", "/Applications/Xcode-26.app/Contents/Developer/usr/bin/",
      "/Applications/Xcode.app/", "/Applications/Xcodes/", "/Applications/Mail.app/"],
    &[],
    &[("/Applications/Xcode-26.app", Source::Xcode), ("/Applications/Xcode.app", Source::Xcode)]
)]
#[case::developer_directory(
    &["/private/var/db/xcode_select_link -> /Library/Developer/CommandLineTools", "/Library/Developer/CommandLineTools/",
      "/Volumes/Tools/Beta.app/Contents/Developer/Inner.app/"],
    &[("DEVELOPER_DIR", "/Volumes/Tools/Beta.app/Contents/Developer/Inner.app")],
    &[("/Library/Developer/CommandLineTools", Source::Xcode), ("/Volumes/Tools/Beta.app", Source::Xcode)]
)]
#[case::select_and_license(
    &["/private/var/select/", "/Library/Preferences/com.apple.dt.Xcode.plist", "/Library/Preferences/other.plist"],
    &[],
    &[("/Library/Preferences/com.apple.dt.Xcode.plist", Source::Xcode), ("/private/var/select", Source::Xcode)]
)]
#[case::homebrew(&["/opt/homebrew/bin/", "/usr/local/Cellar/"], &[], &[("/opt/homebrew", Source::Homebrew), ("/usr/local", Source::Homebrew)])]
#[case::caches(
    &["/Users/ada/Library/Caches/pip/", "/Users/ada/Library/Caches/deno/", "/Users/ada/Library/Keychains/"],
    &[],
    &[("/Users/ada/Library/Caches/deno", Source::Deno), ("/Users/ada/Library/Caches/pip", Source::Python)]
)]
#[case::rows_of_linux(&["/opt/tool/", "/home/linuxbrew/.linuxbrew/"], &[], &[])]
fn each_row_on_macos(#[case] host: &[&str], #[case] environment: &[(&str, &str)], #[case] expected: &[(&str, Source)]) {
    assert_eq!(reads(&derive(&mac(environment), &ToldHost::of(host))), expected);
}

#[test]
fn a_carried_variable_wins_over_the_process_own_and_an_empty_or_relative_one_counts_as_not_set() {
    for variable in Variable::ALL {
        let name = variable.name();
        let carried = format!("OPENAGENTS_TOOLCHAIN_{name}");
        let value = |environment: &[(&str, &str)]| linux(environment).variable(variable);
        assert_eq!(
            value(&[(name, "/own"), (&carried, "/carried")]),
            Some("/carried".into())
        );
        assert_eq!(value(&[(name, "/own"), (&carried, "")]), Some("/own".into()));
        assert_eq!(value(&[(name, "own")]), None);
        assert_eq!(value(&[]), None);
    }
    assert_eq!(linux(&[("PATH", "/a"), ("OPENAGENTS_TOOLCHAIN_PATH", "/b")]).path, "/b");
}

#[test]
fn a_variable_moves_its_row() {
    let host = ToldHost::of(&[
        "/data/cargo/bin/",
        "/data/cargo/credentials.toml",
        "/data/rustup/",
        "/data/nvm/versions/",
        "/data/pyenv/",
        "/data/go-one/bin/",
        "/data/go-two/pkg/mod/",
        "/data/goroot/",
        "/data/bun/",
        "/data/deno/",
        "/data/deno-cache/",
        "/home/ada/.cargo/bin/",
        "/home/ada/.rustup/",
        "/home/ada/go/bin/",
    ]);
    let toolchains = derive(
        &linux(&[
            ("CARGO_HOME", "/data/cargo"),
            ("RUSTUP_HOME", "/data/rustup"),
            ("NVM_DIR", "/data/nvm"),
            ("PYENV_ROOT", "/data/pyenv"),
            ("GOPATH", "/data/go-one:relative:/data/go-two"),
            ("GOROOT", "/data/goroot"),
            ("BUN_INSTALL", "/data/bun"),
            ("DENO_INSTALL", "/data/deno"),
            ("DENO_DIR", "/data/deno-cache"),
        ]),
        &host,
    );
    assert_eq!(
        reads(&toolchains),
        [
            ("/data/bun", Source::Bun),
            ("/data/cargo/bin", Source::Cargo),
            ("/data/deno", Source::Deno),
            ("/data/deno-cache", Source::Deno),
            ("/data/go-one/bin", Source::Go),
            ("/data/go-two/pkg/mod", Source::Go),
            ("/data/goroot", Source::Go),
            ("/data/nvm/versions", Source::Node),
            ("/data/pyenv", Source::Python),
            ("/data/rustup", Source::Rustup),
        ]
    );
}

#[rstest]
#[case::prefix("/srv/tool/bin", &["/srv/tool/bin/x", "/srv/tool/lib/"], &["/srv/tool"])]
#[case::system_prefix("/srv/tool/sbin", &["/srv/tool/sbin/"], &["/srv/tool"])]
#[case::other_name("/srv/tool/scripts", &["/srv/tool/scripts/", "/srv/tool/lib/"], &["/srv/tool/scripts"])]
#[case::hidden_prefix("/srv/.tool/bin", &["/srv/.tool/bin/", "/srv/.tool/secret"], &["/srv/.tool/bin"])]
#[case::shared_prefix("/srv/bin", &["/srv/bin/", "/srv/other/"], &["/srv/bin"])]
#[case::prefix_holds_the_home("/home/bin", &["/home/bin/", "/home/ada/"], &["/home/bin"])]
#[case::root_prefix("/bin", &["/bin/sh"], &["/bin"])]
#[case::in_home("/home/ada/bin", &["/home/ada/bin/x", "/home/ada/notes"], &["/home/ada/bin"])]
#[case::deeper_in_home("/home/ada/tool/bin", &["/home/ada/tool/bin/", "/home/ada/tool/secret"], &["/home/ada/tool/bin"])]
#[case::linked_programs(
    "/home/ada/bin",
    &["/home/ada/bin/x -> ../tools/x/x", "/home/ada/tools/x/x", "/home/ada/bin/loop -> loop", "/home/ada/bin/gone -> /nowhere"],
    &["/home/ada/bin", "/home/ada/tools/x"]
)]
#[case::a_linked_directory_is_no_program("/home/ada/bin", &["/home/ada/bin/d -> ../all/d", "/home/ada/all/d/"], &["/home/ada/bin"])]
#[case::a_program_in_the_home_itself("/home/ada/bin", &["/home/ada/bin/x -> ../x", "/home/ada/x"], &["/home/ada/bin"])]
#[case::a_program_in_the_cargo_root("/home/ada/bin", &["/home/ada/bin/x -> ../.cargo/x", "/home/ada/.cargo/x"], &["/home/ada/bin"])]
#[case::a_socket_in_run("/home/ada/bin", &["/home/ada/bin/docker -> /run/docker.sock", "/run/docker.sock"], &["/home/ada/bin"])]
#[case::link_to_a_tool_outside("/home/ada/bin", &["/home/ada/bin -> /srv/tool/bin", "/srv/tool/bin/"], &["/srv/tool"])]
#[case::link_into_the_home("/srv/tool/bin", &["/srv/tool/bin -> /home/ada/tool/bin", "/home/ada/tool/bin/"], &["/home/ada/tool/bin"])]
#[case::nested("/srv/tool/bin:/srv/tool/bin/more:/srv/tool", &["/srv/tool/bin/more/"], &["/srv/tool"])]
fn a_directory_on_path(#[case] path: &str, #[case] host: &[&str], #[case] expected: &[&str]) {
    assert_eq!(names(&derive(&linux(&[("PATH", path)]), &ToldHost::of(host))), expected);
}

#[rstest]
#[case::empty("")]
#[case::empty_entries("::")]
#[case::root("/")]
#[case::root_in_disguise("//:/../:/home/..")]
#[case::home("/home/ada")]
#[case::home_in_disguise("/home/ada/.:/home/ada/bin/..:/home/../home/ada/")]
#[case::home_by_link("/home/link")]
#[case::ancestor("/home")]
#[case::relative("bin:./bin:../bin:~/bin")]
#[case::missing("/nowhere/bin")]
#[case::dangling("/home/dangling")]
#[case::loops("/home/loop")]
#[case::file("/home/ada/file")]
#[case::kernel("/proc/self/cwd:/dev:/sys/bin")]
#[case::shared("/tmp:/run:/var:/etc")]
#[case::cargo_root("/home/ada/.cargo")]
fn a_hostile_path_grants_nothing(#[case] path: &str) {
    let host = ToldHost::of(&[
        "/bin/sh",
        "/home/ada/bin/",
        "/home/ada/file",
        "/home/link -> /home/ada",
        "/home/dangling -> /home/nowhere",
        "/home/loop -> loop",
        "/home/ada/.cargo/credentials.toml",
        "/home/ada/x -> /home/ada/secret/x",
        "/home/ada/secret/x",
        "/proc/self/cwd/",
        "/dev/",
        "/sys/bin/",
        "/tmp/",
        "/run/",
        "/var/",
        "/etc/",
    ]);
    let toolchains = derive(&linux(&[("PATH", path)]), &host);
    let expected = Toolchains {
        path: vec!["/bin".into()],
        ..Toolchains::default()
    };
    assert_eq!(toolchains, expected);
}

#[test]
fn a_name_that_is_not_utf8_survives_and_a_colon_does_not_make_a_second_entry() {
    let mut host = ToldHost::of(&["/bin/sh", "/srv/link -> /srv/a:/srv/evil", "/srv/evil/bin/"]);
    let odd = PathBuf::from(OsStr::from_bytes(b"/srv/\xff/tools"));
    host.put(odd.clone(), Node::Directory);
    host.put("/srv/a:/srv/evil".into(), Node::Directory);
    let mut described = linux(&[]);
    described.path = OsString::from_vec(b"/srv/\xff/tools:/srv/link".to_vec());
    let toolchains = derive(&described, &host);
    assert_eq!(toolchains.path, [odd.clone(), "/bin".into()]);
    assert_eq!(toolchains.path_variable().as_bytes(), b"/srv/\xff/tools:/bin");
    assert_eq!(
        serde_json::to_value(&toolchains).unwrap(),
        serde_json::json!({
            "reads": [
                {"path": "/srv/a:/srv/evil", "source": "path"},
                {"path": {"base64": "L3Nydi//L3Rvb2xz"}, "source": "path"},
            ],
            "path": [{"base64": "L3Nydi//L3Rvb2xz"}, "/bin"],
            "environment": [],
            "unfollowed": [],
        })
    );
}

#[test]
fn either_home_is_protected_in_either_form() {
    let host = ToldHost::of(&[
        "/home/ada -> /data/people/ada",
        "/data/people/ada/bin/",
        "/data/login/bin/",
    ]);
    let mut described = linux(&[("PATH", "/data/people/bin:/data/people:/data/login:/data/login/bin")]);
    described.account_home = Some("/data/login".into());
    assert_eq!(names(&derive(&described, &host)), ["/data/login/bin"]);
}

#[test]
fn what_holds_or_lies_in_a_sealed_path_is_left_out_and_what_is_beside_it_stays() {
    let host = ToldHost::of(&[
        "/opt/node/bin/",
        "/opt/state/tasks/bin/",
        "/srv/repository/.git/hooks/bin/",
        "/srv/repository/bin/",
    ]);
    let mut described = linux(&[(
        "PATH",
        "/opt/node/bin:/opt/state/tasks/bin:/srv/repository/bin:/srv/repository/.git/hooks",
    )]);
    described.sealed = vec!["/opt/state/tasks".into()];
    described.git_directory = Some("/srv/repository/.git".into());
    let toolchains = derive(&described, &host);
    // `/opt` and `/srv/repository` would hold a sealed path; the narrower entries under them are not lost with them.
    assert_eq!(
        reads(&toolchains),
        [
            ("/opt/node", Source::Path),
            ("/srv/repository/.git", Source::Repository),
            ("/srv/repository/bin", Source::Path),
        ]
    );
    assert_eq!(
        paths(&toolchains),
        ["/opt/node/bin", "/srv/repository/bin", "/srv/repository/.git/hooks"]
    );
}

#[rstest]
#[case::holds_the_store("/srv/git", "/srv/git/tasks")]
#[case::in_the_store("/srv/tasks/git", "/srv/tasks")]
#[case::is_the_store("/srv/git", "/srv/git")]
#[case::holds_the_home("/home", "/srv/tasks")]
#[case::is_the_home("/home/ada", "/srv/tasks")]
fn a_git_directory_that_would_show_too_much_is_not_granted(#[case] git: &str, #[case] store: &str) {
    let host = ToldHost::of(&[&format!("{git}/"), &format!("{store}/"), "/home/ada/"]);
    let mut described = linux(&[]);
    described.sealed = vec![store.into()];
    described.git_directory = Some(git.into());
    assert_eq!(derive(&described, &host), Toolchains::default());
}

#[test]
fn the_path_is_the_persons_then_known_directories_then_the_systems() {
    let host = ToldHost::of(&[
        "/usr/bin/",
        "/usr/local/bin/",
        "/bin -> usr/bin",
        "/srv/mine/bin/",
        "/srv/link -> /srv/mine/bin",
        "/home/ada/.cargo/bin/",
        "/home/ada/.pyenv/shims/",
        "/home/ada/.nvm/versions/node/v20.1.0/bin/",
        "/home/ada/.bun/bin/",
        "/home/ada/.deno/bin/",
        "/home/ada/go/bin/",
        "/home/ada/.local/bin/",
        "/home/linuxbrew/.linuxbrew/bin/",
        "/home/linuxbrew/.linuxbrew/sbin/",
    ]);
    let toolchains = derive(
        &linux(&[("PATH", "/srv/mine/bin:/bin:/srv/link:/home/ada/.bun/bin")]),
        &host,
    );
    assert_eq!(
        paths(&toolchains),
        [
            "/srv/mine/bin",
            "/usr/bin",
            "/home/ada/.bun/bin",
            "/home/ada/.cargo/bin",
            "/home/ada/.pyenv/shims",
            "/home/ada/.nvm/versions/node/v20.1.0/bin",
            "/home/ada/.deno/bin",
            "/home/ada/go/bin",
            "/home/linuxbrew/.linuxbrew/bin",
            "/home/linuxbrew/.linuxbrew/sbin",
            "/usr/local/bin",
        ],
        "~/.local/bin is not on PATH, so nothing makes it readable"
    );
    let with_local = derive(&linux(&[("PATH", "/home/ada/.local/bin")]), &host);
    assert_eq!(with_local.path.first(), Some(&PathBuf::from("/home/ada/.local/bin")));
}

#[test]
fn the_path_on_macos() {
    let host = ToldHost::of(&[
        "/usr/bin/",
        "/usr/sbin/",
        "/bin/",
        "/sbin/",
        "/usr/local/bin/",
        "/opt/homebrew/bin/",
    ]);
    assert_eq!(
        paths(&derive(&mac(&[("PATH", "/bin")]), &host)),
        [
            "/bin",
            "/opt/homebrew/bin",
            "/usr/local/bin",
            "/usr/bin",
            "/usr/sbin",
            "/sbin"
        ]
    );
}

#[rstest]
#[case::exact("v18.20.1", "v18.20.1")]
#[case::exact_without_v("9.11.2\n", "v9.11.2")]
#[case::major("18", "v18.20.1")]
#[case::minor("18.3", "v18.3.0")]
#[case::a_digit_is_not_a_number("1", "v20.0.0")]
#[case::not_installed("16", "v20.0.0")]
#[case::an_alias_of_an_alias("lts/*", "v20.0.0")]
#[case::system("system", "v20.0.0")]
#[case::empty("", "v20.0.0")]
fn the_default_node_version(#[case] alias: &str, #[case] version: &str) {
    let alias = format!("/home/ada/.nvm/alias/default = {alias}");
    let root = "/home/ada/.nvm/versions/node";
    let mut lines = vec![alias.as_str()];
    let installed =
        ["v9.11.2", "v18.3.0", "v18.20.1", "v20.0.0", "vnext", "iojs"].map(|name| format!("{root}/{name}/bin/"));
    lines.extend(installed.iter().map(String::as_str));
    assert_eq!(
        paths(&derive(&linux(&[]), &ToldHost::of(&lines))),
        [format!("{root}/{version}/bin")]
    );
}

#[test]
fn variables_lead_to_installations_that_are_there_and_readable() {
    let host = ToldHost::of(&[
        "/data/rustup/",
        "/home/ada/.rustup -> /data/rustup",
        "/home/ada/.pyenv/",
        "/home/ada/.local/share/uv/python/",
    ]);
    let mut described = linux(&[]);
    described.scratch = Some("/scratch".into());
    let expected = [
        ("RUSTUP_HOME", "/data/rustup"),
        ("PYENV_ROOT", "/home/ada/.pyenv"),
        ("UV_PYTHON_INSTALL_DIR", "/home/ada/.local/share/uv/python"),
    ];
    let expected = expected.map(|(name, path)| (name.to_owned(), PathBuf::from(path)));
    assert_eq!(derive(&described, &host).environment, expected);
    described.sealed = vec!["/data/rustup/secret".into()];
    assert_eq!(derive(&described, &host).environment, expected[1..]);

    let mut described = mac(&[]);
    described.scratch = Some("/scratch".into());
    assert_eq!(
        derive(&described, &host).environment,
        [("xcrun_db".to_owned(), PathBuf::from("/scratch/xcrun_db"))]
    );
}

#[test]
fn links_are_followed_up_to_the_bound_and_a_directory_with_more_is_named() {
    let links = |count: usize| {
        let mut host = ToldHost::of(&["/home/ada/bin/"]);
        for index in 0..count {
            host.put(
                format!("/home/ada/tools/{index:04}/x").into(),
                Node::File(String::new()),
            );
            let target = format!("../tools/{index:04}/x").into();
            host.put(format!("/home/ada/bin/{index:04}").into(), Node::Link(target));
        }
        derive(&linux(&[("PATH", "/home/ada/bin")]), &host)
    };
    let all = links(search_path::MAXIMUM_LINKS);
    assert_eq!((all.reads.len(), all.unfollowed), (513, vec![]));
    let some = links(search_path::MAXIMUM_LINKS + 1);
    assert_eq!((some.reads.len(), some.unfollowed), (513, vec!["/home/ada/bin".into()]));
}

#[test]
fn a_home_that_is_not_absolute_and_one_that_is_the_root() {
    let host = ToldHost::of(&["/.cargo/bin/", "/srv/tool/bin/"]);
    let mut described = described(System::Linux, "ada", &[("PATH", "/srv/tool/bin")]);
    assert_eq!(names(&derive(&described, &host)), ["/srv/tool"]);
    described.home = Some("/".into());
    // Everything is in that home, so no prefix is granted whole.
    assert_eq!(names(&derive(&described, &host)), ["/.cargo/bin", "/srv/tool/bin"]);
}

#[test]
fn the_real_host_answers_as_the_described_one() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path().canonicalize().unwrap();
    let home = root.join("home");
    for directory in [
        "home/.nvm/versions/node/v20.1.0/bin",
        "home/.nvm/versions/node/v9.0.0/bin",
        "home/.nvm/alias",
        "home/bin",
        "home/tools",
    ] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    std::fs::write(home.join(".nvm/alias/default"), "9\n").unwrap();
    std::fs::write(home.join("tools/x"), "").unwrap();
    std::os::unix::fs::symlink("../tools/x", home.join("bin/x")).unwrap();
    std::os::unix::fs::symlink("nowhere", home.join("bin/gone")).unwrap();
    let mut described = Described::read(System::Linux, None, |_| None);
    described.home = Some(home.clone());
    described.path = home.join("bin").into();
    let toolchains = derive(&described, &RealHost);
    let own: Vec<&Path> = toolchains
        .reads
        .iter()
        .map(|entry| entry.path.as_path())
        .filter(|path| path.starts_with(&root))
        .collect();
    assert_eq!(own, [home.join(".nvm/versions"), home.join("bin"), home.join("tools")]);
    assert_eq!(
        toolchains.path[..2],
        [home.join("bin"), home.join(".nvm/versions/node/v9.0.0/bin")]
    );
}

#[test]
fn a_pipe_in_place_of_the_nvm_alias_does_not_hang() {
    let root = tempfile::tempdir().unwrap();
    let pipe = root.path().join("pipe");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(RealHost.read_text(&pipe), None);
    assert_eq!(RealHost.read_text(root.path()), None);
}

#[test]
fn the_account_database_knows_the_home_of_whoever_runs_this() {
    let user = rustix::process::geteuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").unwrap();
    let listed = accounts
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields[2] == user);
    // Without a line the account may still be known to a directory service, which this test cannot ask another way.
    if let Some(fields) = listed {
        assert_eq!(crate::account().unwrap().home, Path::new(fields[5]));
    }
}

#[rstest]
#[case::of_linux(
    linux(&[]),
    &["/home/ada/.cargo/registry/", "/home/ada/.cargo/git/", "/home/ada/.npm/_cacache/", "/home/ada/.cache/pip/", "/home/ada/.cache/uv/",
      "/home/ada/go/pkg/mod/", "/home/ada/.bun/install/cache/", "/home/ada/.cache/deno/"],
    &["cargo /home/ada/.cargo/registry .cargo/registry", "cargo /home/ada/.cargo/git .cargo/git",
      "npm /home/ada/.npm/_cacache .npm/_cacache", "pip /home/ada/.cache/pip .cache/pip", "uv /home/ada/.cache/uv .cache/uv",
      "go /home/ada/go/pkg/mod go/pkg/mod", "bun /home/ada/.bun/install/cache .bun/install/cache",
      "deno /home/ada/.cache/deno .cache/deno"]
)]
#[case::of_macos(
    mac(&[]),
    &["/Users/ada/Library/Caches/pip/", "/Users/ada/Library/Caches/deno/", "/Users/ada/.cache/pip/"],
    &["pip /Users/ada/Library/Caches/pip Library/Caches/pip", "deno /Users/ada/Library/Caches/deno Library/Caches/deno"]
)]
#[case::where_the_variables_say(
    linux(&[("CARGO_HOME", "/data/cargo"), ("GOPATH", "/data/go:/data/second"), ("DENO_DIR", "/data/deno"), ("BUN_INSTALL", "/data/bun")]),
    &["/data/cargo/registry/", "/data/go/pkg/mod/", "/data/second/pkg/mod/", "/data/deno/", "/data/bun/install/cache/", "/home/ada/go/pkg/mod/"],
    &["cargo /data/cargo/registry .cargo/registry", "go /data/go/pkg/mod go/pkg/mod",
      "bun /data/bun/install/cache .bun/install/cache", "deno /data/deno .cache/deno"]
)]
#[case::through_links(
    linux(&[]),
    &["/home/ada/.cargo -> /data/cargo", "/data/cargo/registry/"],
    &["cargo /data/cargo/registry .cargo/registry"]
)]
#[case::what_may_not_be_read_is_no_cache(
    linux(&[("CARGO_HOME", "/proc/cargo")]),
    &["/proc/cargo/registry/"],
    &[]
)]
fn caches(#[case] described: Described, #[case] host: &[&str], #[case] expected: &[&str]) {
    let derived = derive(&described, &ToldHost::of(host));
    let found = derived.caches.iter();
    let found: Vec<String> = found
        .map(|cache| format!("{} {} {}", cache.tool, cache.path.display(), cache.place.display()))
        .collect();
    assert_eq!(found, expected);
}

fn any_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("bin"),
        Just("sbin"),
        Just("home"),
        Just("ada"),
        Just(".."),
        Just("."),
        Just(""),
        Just("opt"),
        Just(".cargo"),
        Just("store"),
        Just("l"),
        Just("x")
    ];
    proptest::collection::vec(part, 0..6).prop_map(|parts| format!("/{}", parts.join("/")))
}

proptest! {
    /// Whatever the host and its variables are: nothing granted holds a home, the cargo root or the store, or lies in
    /// the store; no entry is beneath another; and every directory on the commands' `PATH` is readable.
    #[test]
    fn the_prohibitions_hold_on_any_host(
        directories in proptest::collection::vec(any_path(), 0..12),
        links in proptest::collection::vec((any_path(), any_path()), 0..8),
        path in proptest::collection::vec(any_path(), 0..8),
        home in any_path(),
        cargo in any_path(),
        store in any_path(),
    ) {
        let mut host = ToldHost::of(&["/usr/bin/"]);
        let plain = |path: &str| !Path::new(path).components().any(|part| part == Component::ParentDir) && path != "/";
        for directory in directories.iter().filter(|path| plain(path)) {
            host.put(Path::new(directory).components().collect(), Node::Directory);
        }
        for (link, target) in links.iter().filter(|(link, _)| plain(link)) {
            let link: PathBuf = Path::new(link).components().collect();
            if !host.0.keys().any(|key| key.starts_with(&link)) {
                host.put(link, Node::Link(target.into()));
            }
        }
        let mut described = described(System::Linux, &home, &[("PATH", &path.join(":")), ("CARGO_HOME", &cargo)]);
        described.sealed = vec![store.clone().into()];
        let toolchains = derive(&described, &host);
        let resolved = |path: &str| host.canonicalise(Path::new(path));
        for entry in &toolchains.reads {
            prop_assert_eq!(host.canonicalise(&entry.path), Some(entry.path.clone()));
            for never in [resolved(&home), resolved(&cargo), resolved(&store), Some("/".into())].into_iter().flatten() {
                prop_assert!(!never.starts_with(&entry.path), "{:?} holds {:?}", entry.path, never);
            }
            if let Some(store) = resolved(&store) {
                prop_assert!(!entry.path.starts_with(store));
            }
            let beneath = |other: &ReadEntry| other != entry && entry.path.starts_with(&other.path);
            prop_assert!(!toolchains.reads.iter().any(beneath));
        }
        for directory in &toolchains.path {
            prop_assert!(directory.starts_with("/usr") || directory.starts_with("/bin") || directory.starts_with("/sbin")
                || reads::covers(&toolchains.reads, directory));
        }
    }
}
