//! The toolchain table: the known places of each toolchain on each system. The rows of `PATH` and of the repository are
//! elsewhere, since they follow from the person's environment and not from a list.

use super::described::{Described, System, Variable};
use super::places::Places;
use super::reads::{Reads, Source};
use std::path::{Path, PathBuf};

/// Adds every row but `PATH` and the repository.
pub(super) fn add(described: &Described, places: &Places, reads: &mut Reads<'_>) {
    match described.system {
        System::Linux => {
            reads.add(Source::Homebrew, "/home/linuxbrew/.linuxbrew");
            linux(reads);
        }
        System::MacOs => {
            xcode(described, reads);
            reads.add(Source::Homebrew, "/opt/homebrew");
            reads.add(Source::Homebrew, "/usr/local");
        }
    }
    nix(places, reads);
    rust(places, reads);
    node(places, reads);
    python(described.system, places, reads);
    go(described, places, reads);
    if let Some(bun) = &places.bun {
        reads.add(Source::Bun, bun);
    }
    deno(described, places, reads);
}

fn xcode(described: &Described, reads: &mut Reads<'_>) {
    const LINK: &str = "/private/var/db/xcode_select_link";
    // `xcode-select -p` prints what this link leads to, so it needs no program to be started.
    let selected = described
        .variable(Variable::DeveloperDir)
        .unwrap_or_else(|| PathBuf::from(LINK));
    if let Some(selected) = reads.view().canonicalise(&selected) {
        reads.add(Source::Xcode, application(&selected).unwrap_or(&selected));
    }
    for name in reads.view().list_directory(Path::new("/Applications")) {
        let bytes = name.as_encoded_bytes();
        if bytes.starts_with(b"Xcode") && bytes.ends_with(b".app") {
            reads.add(Source::Xcode, Path::new("/Applications").join(name));
        }
    }
    for path in [
        "/Library/Developer/CommandLineTools",
        LINK,
        "/private/var/select",
        "/Library/Preferences/com.apple.dt.Xcode.plist",
    ] {
        reads.add(Source::Xcode, path);
    }
}

/// The outermost `.app` bundle that holds a path.
fn application(path: &Path) -> Option<&Path> {
    path.ancestors()
        .filter(|ancestor| ancestor.extension().is_some_and(|extension| extension == "app"))
        .last()
}

fn linux(reads: &mut Reads<'_>) {
    reads.add(Source::Linux, "/opt");
    // Where the name server's address is kept if /etc/resolv.conf is a link. If it is a file, it is the boundary's to show.
    if let Some(resolver) = reads.view().canonicalise(Path::new("/etc/resolv.conf"))
        && let Some(directory) = resolver.parent()
    {
        reads.add(Source::Linux, directory);
    }
}

fn nix(places: &Places, reads: &mut Reads<'_>) {
    for path in [
        "/nix/store",
        "/nix/var/nix/profiles",
        "/run/current-system",
        "/etc/profiles/per-user",
        "/etc/static",
    ] {
        reads.add(Source::Nix, path);
    }
    add_home(Source::Nix, &[".nix-profile"], places, reads);
}

fn rust(places: &Places, reads: &mut Reads<'_>) {
    if let Some(rustup) = &places.rustup {
        reads.add(Source::Rustup, rustup);
    }
    if let Some(cargo) = &places.cargo {
        for part in ["bin", "registry", "git"] {
            reads.add(Source::Cargo, cargo.join(part));
        }
    }
}

fn node(places: &Places, reads: &mut Reads<'_>) {
    if let Some(nvm) = &places.nvm {
        reads.add(Source::Node, nvm.join("versions"));
    }
    add_home(Source::Node, &[".npm/_cacache"], places, reads);
}

fn python(system: System, places: &Places, reads: &mut Reads<'_>) {
    if let Some(pyenv) = &places.pyenv {
        reads.add(Source::Python, pyenv);
    }
    add_home(
        Source::Python,
        &[".local/share/uv", ".cache/uv", ".cache/pip"],
        places,
        reads,
    );
    match system {
        System::Linux => {}
        System::MacOs => add_home(Source::Python, &["Library/Caches/pip"], places, reads),
    }
}

fn go(described: &Described, places: &Places, reads: &mut Reads<'_>) {
    for path in &places.go {
        reads.add(Source::Go, path.join("bin"));
        reads.add(Source::Go, path.join("pkg/mod"));
    }
    if let Some(root) = described.variable(Variable::GoRoot) {
        reads.add(Source::Go, root);
    }
}

fn deno(described: &Described, places: &Places, reads: &mut Reads<'_>) {
    for path in places.deno.iter().cloned().chain(described.variable(Variable::DenoDir)) {
        reads.add(Source::Deno, path);
    }
    let cache = match described.system {
        System::Linux => ".cache/deno",
        System::MacOs => "Library/Caches/deno",
    };
    add_home(Source::Deno, &[cache], places, reads);
}

fn add_home(source: Source, relatives: &[&str], places: &Places, reads: &mut Reads<'_>) {
    for path in relatives.iter().filter_map(|relative| places.in_home(relative)) {
        reads.add(source, path);
    }
}
