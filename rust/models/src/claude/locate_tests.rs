use super::*;
use rstest::rstest;
use std::collections::HashMap;
use tempfile::TempDir;

fn program(place: &TempDir, path: &str) -> PathBuf {
    let path = place.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Whatever the machine of the test has installed for everybody.
fn locate(variables: &HashMap<&str, OsString>) -> Result<PathBuf, String> {
    super::locate(&|name| variables.get(name).cloned(), &[]).map_err(|error| error.to_string())
}

#[rstest]
#[case("home/.local/bin/claude")]
#[case("home/.claude/local/claude")]
#[case("home/.npm-global/bin/claude")]
#[case("home/.volta/bin/claude")]
#[case("home/.bun/bin/claude")]
#[case("home/.nvm/versions/node/v22.3.0/bin/claude")]
fn it_is_found_where_installers_put_it(#[case] path: &str) {
    let place = tempfile::tempdir().unwrap();
    let installed = program(&place, path);
    let variables = HashMap::from([("HOME", place.path().join("home").into_os_string())]);
    assert_eq!(locate(&variables), Ok(installed));
}

#[test]
fn a_named_one_counts_before_the_path_and_that_before_the_rest() {
    let place = tempfile::tempdir().unwrap();
    let (named, on_path) = (program(&place, "named"), program(&place, "bin/claude"));
    program(&place, "home/.local/bin/claude");
    let mut variables = HashMap::from([
        ("CLAUDE_BIN", named.clone().into_os_string()),
        (
            "PATH",
            format!("relative:{}", place.path().join("bin").display()).into(),
        ),
        ("HOME", place.path().join("home").into_os_string()),
    ]);
    assert_eq!(locate(&variables), Ok(named.clone()));
    variables.remove("CLAUDE_BIN");
    assert_eq!(locate(&variables), Ok(on_path));
    variables.insert("CLAUDE_BIN", place.path().join("missing").into_os_string());
    let refused = locate(&variables).unwrap_err();
    assert!(
        refused.ends_with("missing, which is no program that can be run"),
        "{refused}"
    );
}

#[test]
fn of_several_nodes_the_newest_counts_by_number() {
    let place = tempfile::tempdir().unwrap();
    for version in ["v9.9.9", "v22.3.0", "v22.10.1", "system"] {
        program(&place, &format!(".nvm/versions/node/{version}/bin/claude"));
    }
    let variables = HashMap::from([("HOME", place.path().as_os_str().to_owned())]);
    assert_eq!(
        locate(&variables),
        Ok(place.path().join(".nvm/versions/node/v22.10.1/bin/claude"))
    );
}

#[test]
fn the_login_shell_knows_more() {
    let place = tempfile::tempdir().unwrap();
    let installed = program(&place, "hidden/claude");
    let profile = format!("echo noise\nPATH={}:$PATH\n", place.path().join("hidden").display());
    std::fs::write(place.path().join(".profile"), profile).unwrap();
    let variables = HashMap::from([
        ("HOME", place.path().as_os_str().to_owned()),
        ("SHELL", "/bin/sh".into()),
    ]);
    assert_eq!(locate(&variables), Ok(installed));
}

#[test]
fn it_may_be_nowhere() {
    let place = tempfile::tempdir().unwrap();
    program(&place, ".local/bin/other");
    let variables = HashMap::from([
        ("HOME", place.path().as_os_str().to_owned()),
        ("SHELL", "/bin/false".into()),
    ]);
    let words = "the Claude Code program was not found: install it, or name it with CLAUDE_BIN";
    assert_eq!(locate(&variables), Err(words.to_owned()));
}
