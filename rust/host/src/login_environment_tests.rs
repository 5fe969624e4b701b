//! Tests of `login_environment`: a home whose shell files do what people's do.

use super::*;
use rstest::rstest;
use serde_json::json;

fn person(home: &Path, shell: &str) -> Person {
    Person {
        home: home.to_owned(),
        name: OsString::from("ada"),
        shell: shell.into(),
        credentials: vec!["MODEL_PASSWORD".to_owned()],
    }
}

fn home(profile: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".bash_profile"), profile).unwrap();
    home
}

fn value<'e>(environment: &'e CommandEnvironment, name: &str) -> Option<&'e str> {
    let found = environment.variables().iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.to_str().unwrap())
}

fn asked(person: Person) -> Arc<CommandEnvironment> {
    Asked::begin(person).unwrap().wait(&Cancel::never())
}

#[test]
fn the_login_shell_says_what_commands_get_and_keeps_its_own() {
    let home = home(
        "echo welcome; printf '\\0noise\\0'; . ~/.bashrc
         export PATH=/opt/mine/bin:/usr/bin:/bin EDITOR=vi LINES_OF='a
b' OPENAI_API_KEY=secret github_token=secret A_SECRET=secret MODEL_PASSWORD=secret HOME=/elsewhere USER=other SHELL=/bin/false
         PS1='$ '; export PS1 PROMPT_COMMAND=true BASH_ENV=/tmp/evil
         greet() { echo hi; }; export -f greet",
    );
    std::fs::write(
        home.path().join(".bashrc"),
        "case $- in *i*) export INTERACTIVE=yes;; esac\n",
    )
    .unwrap();
    let environment = asked(person(home.path(), "/bin/bash"));
    let own = home.path().to_str().unwrap();
    for (name, expected) in [
        ("PATH", Some("/opt/mine/bin:/usr/bin:/bin")),
        ("EDITOR", Some("vi")),
        ("LINES_OF", Some("a\nb")),
        ("INTERACTIVE", Some("yes")),
        ("HOME", Some(own)),
        ("USER", Some("ada")),
        ("LOGNAME", Some("ada")),
        ("SHELL", Some("/bin/bash")),
        ("OPENAI_API_KEY", None),
        ("github_token", None),
        ("A_SECRET", None),
        ("MODEL_PASSWORD", None),
        ("PS1", None),
        ("PROMPT_COMMAND", None),
        ("BASH_ENV", None),
        ("BASH_FUNC_greet%%", None),
        ("SHLVL", None),
        ("_", None),
        ("PWD", None),
    ] {
        assert_eq!(value(&environment, name), expected, "{name}");
    }
    let record = serde_json::to_value(&*environment).unwrap();
    let text = record.to_string();
    assert!(!text.contains("secret") && !text.contains("vi\""), "{text}");
    assert_eq!(
        (&record["source"], &record["shell"], &record["path"]),
        (
            &json!("login_shell"),
            &json!("/bin/bash"),
            &json!("/opt/mine/bin:/usr/bin:/bin")
        )
    );
    assert!(record["variables"].as_array().unwrap().contains(&json!("EDITOR")));
    assert!(!format!("{environment:?}").contains("vi\""));
}

#[rstest]
#[case::no_such_shell("/no/such/shell", "true")]
#[case::not_a_shell("/bin/true", "true")]
#[case::that_fails("/bin/bash", "exit 3")]
#[case::that_ends_before("/bin/bash", "exit 0")]
fn without_an_answer_commands_get_the_usual_path_and_the_record_says_why(#[case] shell: &str, #[case] profile: &str) {
    let home = home(profile);
    std::fs::create_dir(home.path().join("bin")).unwrap();
    let environment = asked(person(home.path(), shell));
    let path = value(&environment, "PATH").unwrap();
    assert!(path.starts_with(home.path().join("bin").to_str().unwrap()), "{path}");
    assert!(path.ends_with("/bin"), "{path}");
    let mut record = serde_json::to_value(&*environment).unwrap();
    assert!(!record["reason"].take().as_str().unwrap().is_empty());
    assert_eq!(record["source"], json!("fallback"));
    assert_eq!(record["variables"], json!(["HOME", "LOGNAME", "PATH", "SHELL", "USER"]));
}

#[test]
fn a_shell_that_never_answers_does_not_outlast_whoever_waits_for_it() {
    let home = home("exec sleep 1000");
    let cancel = Cancel::new().unwrap();
    cancel.cancel(coder_process::Reason::Requested);
    let environment = Asked::begin(person(home.path(), "/bin/bash")).unwrap().wait(&cancel);
    assert_eq!(
        serde_json::to_value(&*environment).unwrap()["source"],
        json!("fallback")
    );
}

#[rstest]
#[case::nothing(b"", None)]
#[case::no_marker(b"A=1\0", None)]
#[case::cut(b"microcoder-environment-begins\nA=1", None)]
#[case::noise(b"x\0microcoder-environment-begins\nA=1\0B=\0=c\0novalue\0", Some("A=1 B="))]
#[case::the_last_counts(b"microcoder-environment-begins\nmicrocoder-environment-begins\nA==\0", Some("A=="))]
fn what_is_printed(#[case] printed: &[u8], #[case] expected: Option<&str>) {
    let pair = |(name, value): (OsString, OsString)| format!("{}={}", name.display(), value.display());
    let found = parse(printed).map(|pairs| pairs.into_iter().map(pair).collect::<Vec<_>>().join(" "));
    assert_eq!(found.as_deref(), expected);
}

#[test]
fn the_home_is_the_callers_and_the_name_the_accounts() {
    let person = Person::of(
        &|name| match name {
            "HOME" => Some(OsString::from("/scratch/home")),
            "USER" => Some(OsString::from("somebody")),
            _ => None,
        },
        Vec::new(),
    );
    assert_eq!(person.home, Path::new("/scratch/home"));
    let expected = account().map_or_else(|| OsString::from("somebody"), |account| account.name);
    assert_eq!(person.name, expected);
}
