use super::*;
use rstest::rstest;

/// Report 15: hooks and settings that somebody else executes later, at any depth.
#[rstest]
fn report_15_what_others_execute_is_found(
    #[values(
        ".git/hooks/pre-commit",
        "vendor/x/.git/hooks/pre-commit",
        "vendor/x/.git/config",
        "vendor/x/.git",
        "a/.GIT/hooks/post-checkout",
        "vendor/bare.git/hooks/update",
        "x/.git/info/attributes",
        "x/.git/commondir",
        ".envrc",
        "deep/er/.envrc",
        ".vscode/tasks.json",
        ".vscode/settings.json",
        ".idea/runConfigurations/x.xml",
        ".devcontainer/devcontainer.json",
        "package.json",
        "packages/a/package.json",
        "conftest.py",
        "tests/conftest.py",
        "sitecustomize.py",
        "lib/x.pth",
        "Makefile",
        "rules.mk",
        "justfile",
        "build.rs",
        "crates/a/build.rs",
        "setup.py",
        ".github/workflows/ci.yml",
        ".github/actions/a/action.yml",
        ".pre-commit-config.yaml",
        ".husky/pre-commit",
        ".gitmodules",
        ".gitattributes",
        "sub/.gitattributes",
        ".cargo/config.toml",
        ".cargo/config",
        ".npmrc",
        ".yarnrc.yml",
        ".yarn/releases/yarn.cjs",
        "gradlew",
        "gradlew.bat",
        "gradle/wrapper/gradle-wrapper.jar",
        "mvnw",
        ".mvn/wrapper/maven-wrapper.properties",
        "pyproject.toml",
        "Dockerfile",
        "Dockerfile.dev",
        "docker-compose.yml",
        ".exrc",
        "CLAUDE.md",
        "docs/AGENTS.md",
        ".mcp.json",
        ".claude/settings.json",
        ".cursor/rules/a.mdc",
        ".gitlab-ci.yml",
        "CMakeLists.txt",
        "flake.nix"
    )]
    path: &str,
) {
    assert!(executed_by(path.as_bytes()).is_some());
}

#[rstest]
fn ordinary_files_are_not(
    #[values(
        "src/main.rs",
        "README.md",
        "docs/Makefile.md",
        "package.json.md",
        "notes.txt",
        ".gitignore",
        "hooks/useState.ts",
        "src/hooks/index.ts",
        "git/hooks.md",
        "x/.git/objects/ab/cd",
        "x/.git/HEAD",
        "x/.git/index",
        "cargo/config.toml",
        "github/workflows/ci.yml",
        ".github/CODEOWNERS",
        "build.rs.txt",
        "pth",
        ".pth"
    )]
    path: &str,
) {
    assert_eq!(executed_by(path.as_bytes()), None);
}

#[test]
fn what_is_gone_counts_for_nothing_and_the_list_is_bounded() {
    let path = |number: usize| BytePath::from(format!("{number}/Makefile").as_str());
    let mut changes: Vec<Change> = (0..100).map(|number| Change::Created { path: path(number) }).collect();
    changes.push(Change::Removed {
        path: BytePath::from(".envrc"),
    });
    let (found, omitted) = findings(&changes);
    assert_eq!((found.len(), omitted), (64, 36));
    assert_eq!(
        found.first(),
        Some(&AutoExec {
            path: path(0),
            runs: "make".to_owned(),
        })
    );
    let gone = Change::Removed {
        path: BytePath::from(".envrc"),
    };
    assert_eq!(findings(&[gone]), (Vec::new(), 0));
}
