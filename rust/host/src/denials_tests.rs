use super::*;
use crate::testing::World;
use coder_boundary::{Mode, Policy, Private, Workspace};
use rstest::rstest;

fn told(output: &str) -> Vec<String> {
    let world = World::new();
    let workspace = world.path("work");
    std::fs::create_dir(&workspace).unwrap();
    std::fs::create_dir(world.path("secret")).unwrap();
    std::fs::write(world.path("secret/key"), "").unwrap();
    std::fs::write(workspace.join("own"), "").unwrap();
    let policy = Policy {
        workspace: Some(Workspace {
            path: workspace.clone(),
            mode: Mode::Write,
        }),
        ..Policy::default()
    };
    let boundary = Boundary::prepare(policy, Private::Memory).unwrap();
    let output = output.replace("OUTSIDE", world.path("secret").to_str().unwrap());
    let denied = inferred(&boundary, &workspace, &[output.as_bytes(), b""]);
    let shown = |one: &Denied| one.subject.replace(world.path("secret").to_str().unwrap(), "OUTSIDE");
    denied.iter().map(shown).collect()
}

#[rstest]
#[case::shell("sh: 1: cannot create /usr/x: Read-only file system", &["/usr/x"])]
#[case::quoted("touch: cannot touch '/usr/lib/x': Read-only file system", &["/usr/lib/x"])]
#[case::python("PermissionError: [Errno 13] Permission denied: '/usr/bin/env'", &["/usr/bin/env"])]
#[case::rust("error: could not open `/etc/passwd`: Permission denied (os error 13)", &["/etc/passwd"])]
#[case::node("Error: EROFS: read-only file system, open '/usr/x'", &["/usr/x"])]
#[case::hidden("cat: OUTSIDE/key: No such file or directory", &["OUTSIDE/key"])]
#[case::relative("cat: ../secret/key: No such file or directory", &["../secret/key"])]
#[case::name("curl: (6) Could not resolve host: example.org", &["network"])]
#[case::twice("cat: OUTSIDE/key: No such file or directory\ncat: OUTSIDE/key: No such file or directory", &["OUTSIDE/key"])]
// Not the boundary's doing.
#[case::really_absent("cat: /no/such: No such file or directory", &[])]
#[case::own_file("sh: 1: ./own: Permission denied", &[])]
#[case::compiler("error[E0425]: cannot find value `x` in this scope", &[])]
#[case::no_denial("wrote /usr/x", &[])]
fn a_denial_is_told_apart_from_other_failures(#[case] output: &str, #[case] expected: &[&str]) {
    let told: Vec<String> = told(output)
        .into_iter()
        .map(|path| {
            path.split_once("/work/")
                .map_or(path.clone(), |(_, rest)| rest.to_owned())
        })
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn number_and_length_are_bounded() {
    let many: String = (0..1000)
        .map(|number| format!("touch: cannot touch '/usr/{number}': Read-only file system\n"))
        .collect();
    assert_eq!(told(&many).len(), TOLD);
    let long = format!(
        "touch: cannot touch '/usr/{}': Read-only file system\n",
        "x".repeat(PATH_BYTES)
    );
    assert_eq!(told(&long), [""; 0]);
}
