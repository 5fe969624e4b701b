//! Changed files that others execute later, without being asked: hooks, tasks of editors, scripts of package managers,
//! builds, tests, workflows, and what other agents take for instructions. A candidate is taken by a person, so these are
//! pointed out before. Goes by names alone: what a file would do is for the person to see.

use coder_digest::BytePath;
use coder_journal::AutoExec;
use coder_workspace::Change;

/// How many findings a result lists.
const LISTED: usize = 64;
/// The longest path in a finding, in bytes; a longer one is cut.
const PATH_BYTES: usize = 512;

/// Files by their name, in any directory, and what executes them. A `*` at either end stands for anything.
const NAMES: [(&str, &str); 73] = [
    (".envrc", "direnv, on entering the directory"),
    (".autoenv", "autoenv, on entering the directory"),
    (".env.zsh", "a shell, on entering the directory"),
    (".gitmodules", "git, for submodules"),
    (".gitattributes", "git, for filters and merge drivers"),
    (".gitconfig", "git"),
    (".pre-commit-config.yaml", "pre-commit, at each commit"),
    (".pre-commit-config.yml", "pre-commit, at each commit"),
    (".pre-commit-hooks.yaml", "pre-commit, elsewhere"),
    ("lefthook.yml", "lefthook, at each commit"),
    (".lefthook.yml", "lefthook, at each commit"),
    (".lintstagedrc*", "lint-staged, at each commit"),
    ("package.json", "npm, at install and by its scripts"),
    ("package-lock.json", "npm, which packages it installs"),
    ("pnpm-workspace.yaml", "pnpm, at install"),
    (".pnpmfile.cjs", "pnpm, at install"),
    (".npmrc", "npm, where packages come from"),
    (".yarnrc", "yarn"),
    (".yarnrc.yml", "yarn, which may name a program of its own"),
    ("binding.gyp", "npm, at install"),
    ("bunfig.toml", "bun"),
    ("deno.json*", "deno, by its tasks"),
    ("conftest.py", "pytest"),
    ("pytest.ini", "pytest, which may name plugins"),
    ("tox.ini", "tox"),
    ("noxfile.py", "nox"),
    ("setup.py", "pip, at install"),
    ("setup.cfg", "pip and other tools"),
    ("pyproject.toml", "pip, whose build backend it names"),
    ("hatch_build.py", "pip, at install"),
    ("sitecustomize.py", "python, at each start"),
    ("usercustomize.py", "python, at each start"),
    ("*.pth", "python, at each start"),
    ("manage.py", "django"),
    ("tasks.py", "invoke"),
    ("Pipfile", "pipenv"),
    ("requirements*.txt", "pip, which packages it installs"),
    ("Makefile", "make"),
    ("makefile", "make"),
    ("GNUmakefile", "make"),
    ("*.mk", "make"),
    ("justfile", "just"),
    (".justfile", "just"),
    ("Justfile", "just"),
    ("Taskfile.y*", "task"),
    ("CMakeLists.txt", "cmake"),
    ("*.cmake", "cmake"),
    ("meson.build", "meson"),
    ("configure", "a person, before a build"),
    ("autogen.sh", "a person, before a build"),
    ("BUILD", "bazel"),
    ("BUILD.bazel", "bazel"),
    ("WORKSPACE", "bazel"),
    (".bazelrc", "bazel"),
    ("build.rs", "cargo, at each build"),
    ("rust-toolchain*", "rustup, which compiler is run"),
    ("Rakefile", "rake"),
    ("Gemfile", "bundler"),
    ("*.gemspec", "bundler"),
    ("*.gradle", "gradle"),
    ("*.gradle.kts", "gradle"),
    ("gradlew*", "gradle's wrapper"),
    ("mvnw*", "maven's wrapper"),
    ("pom.xml", "maven"),
    ("Dockerfile*", "docker, at a build"),
    ("*.dockerfile", "docker, at a build"),
    ("docker-compose*", "docker"),
    ("compose.y*", "docker"),
    ("flake.nix", "nix"),
    ("shell.nix", "nix"),
    (".vimrc", "vim, in the directory"),
    (".exrc", "vim, in the directory"),
    (".nvim.lua", "neovim, in the directory"),
];

/// Files by their name that agents take for instructions or for programs to start.
const AGENTS: [(&str, &str); 12] = [
    ("AGENTS.md", "coding agents, as instructions"),
    ("AGENT.md", "coding agents, as instructions"),
    ("CLAUDE.md", "coding agents, as instructions"),
    ("CLAUDE.local.md", "coding agents, as instructions"),
    ("GEMINI.md", "coding agents, as instructions"),
    (".cursorrules", "coding agents, as instructions"),
    (".windsurfrules", "coding agents, as instructions"),
    (".clinerules", "coding agents, as instructions"),
    ("copilot-instructions.md", "coding agents, as instructions"),
    ("SKILL.md", "coding agents, as instructions"),
    (".mcp.json", "coding agents, which start what it names"),
    ("mcp.json", "coding agents, which start what it names"),
];

/// Directories whose whole content counts, by their name at any depth, or by the last two names.
const TREES: [(&str, &str); 24] = [
    (".husky", "git, as hooks"),
    (".githooks", "git, as hooks"),
    (".github/workflows", "GitHub, at a push"),
    (".github/actions", "GitHub, at a push"),
    (".gitlab", "GitLab, at a push"),
    (".circleci", "CircleCI, at a push"),
    (".buildkite", "Buildkite, at a push"),
    (".forgejo", "Forgejo, at a push"),
    (".gitea", "Gitea, at a push"),
    (".vscode", "an editor, by its tasks and settings"),
    (".idea", "an editor, by its run configurations"),
    (".zed", "an editor, by its tasks"),
    (".fleet", "an editor, by its run configurations"),
    (".devcontainer", "an editor, on opening the directory"),
    (".cargo", "cargo, which may run a wrapper or a runner"),
    (".mvn", "maven"),
    ("gradle/wrapper", "gradle's wrapper"),
    (".yarn", "yarn, whose program it may be"),
    (".claude", "coding agents"),
    (".codex", "coding agents"),
    (".cursor", "coding agents"),
    (".gemini", "coding agents"),
    (".opencode", "coding agents"),
    (".continue", "coding agents"),
];

/// Files by their whole path.
const PATHS: [(&str, &str); 6] = [
    (".gitlab-ci.yml", "GitLab, at a push"),
    (".travis.yml", "Travis, at a push"),
    ("azure-pipelines.yml", "Azure, at a push"),
    ("Jenkinsfile", "Jenkins, at a push"),
    ("bitbucket-pipelines.yml", "Bitbucket, at a push"),
    (".drone.yml", "Drone, at a push"),
];

/// What in a repository's own directory Git executes or obeys, by its first name there.
const GIT: [(&str, &str); 7] = [
    ("hooks", "git, as a hook"),
    ("config", "git, whose configuration names programs"),
    ("config.worktree", "git, whose configuration names programs"),
    ("info", "git, for filters and merge drivers"),
    ("modules", "git, in a submodule"),
    ("worktrees", "git, in another worktree"),
    ("commondir", "git, which reads another repository's configuration"),
];

/// What others will execute of these changes, and how much of it is not listed.
pub(crate) fn findings(changes: &[Change]) -> (Vec<AutoExec>, u64) {
    let mut found = Vec::new();
    let mut omitted = 0;
    for path in changes.iter().filter_map(written) {
        let Some(runs) = executed_by(path.as_bytes()) else {
            continue;
        };
        if found.len() < LISTED {
            let bytes = path.as_bytes();
            found.push(AutoExec {
                path: BytePath::new(bytes.get(..PATH_BYTES).unwrap_or(bytes)),
                runs: runs.to_owned(),
            });
        } else {
            omitted += 1;
        }
    }
    (found, omitted)
}

/// The path that is new or different; nothing executes what is gone.
fn written(change: &Change) -> Option<&BytePath> {
    match change {
        Change::Created { path } | Change::Modified { path, .. } | Change::Retyped { path } => Some(path),
        Change::Renamed { to, .. } => Some(to),
        Change::Removed { .. } => None,
    }
}

/// Who executes a file of this path, if anybody does.
pub(crate) fn executed_by(path: &[u8]) -> Option<&'static str> {
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    let (name, above) = parts.split_last()?;
    if let Some(place) = parts.iter().position(|part| part.eq_ignore_ascii_case(b".git")) {
        return match parts.get(place + 1) {
            // A file of that name leads to a repository elsewhere, a new directory is one.
            None => Some("git, as a repository of its own"),
            Some(first) => named(&GIT, first),
        };
    }
    // A bare repository looks the same without that name.
    if above.last().is_some_and(|part| *part == b"hooks") && GIT_HOOKS.iter().any(|hook| *name == hook.as_bytes()) {
        return Some("git, as a hook");
    }
    let tree = (0..above.len()).rev().find_map(|place| {
        let one = *above.get(place)?;
        let two = [*parts.get(place.checked_sub(1)?)?, one].join(&b'/');
        named(&TREES, &two)
    });
    let tree = tree.or_else(|| above.iter().rev().find_map(|part| named(&TREES, part)));
    tree.or_else(|| named(&AGENTS, name))
        .or_else(|| named(&NAMES, name))
        .or_else(|| named(&PATHS, path))
}

/// The names under which Git looks for hooks.
const GIT_HOOKS: [&str; 16] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "prepare-commit-msg",
    "reference-transaction",
    "update",
];

fn named(table: &[(&str, &'static str)], name: &[u8]) -> Option<&'static str> {
    let meant = |pattern: &str| {
        let pattern = pattern.as_bytes();
        match (pattern.strip_prefix(b"*"), pattern.strip_suffix(b"*")) {
            (Some(end), _) => name.len() > end.len() && name.ends_with(end),
            (None, Some(start)) => name.starts_with(start),
            (None, None) => name == pattern,
        }
    };
    table.iter().find(|(pattern, _)| meant(pattern)).map(|(_, runs)| *runs)
}

#[cfg(test)]
#[path = "auto_exec_tests.rs"]
mod tests;
