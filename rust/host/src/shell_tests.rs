use super::*;
use crate::testing::World;
use std::os::unix::fs::symlink;

#[test]
fn trap_21_both_names_of_the_systems_bash_are_one_program() {
    let real = Path::new("/bin/bash").canonicalize().unwrap();
    for name in ["/bin/bash", "/usr/bin/bash"] {
        assert_eq!(admit(Path::new(name)).unwrap(), real, "{name}");
    }
    assert_eq!(
        admit(Path::new("/bin/sh")).unwrap(),
        Path::new("/bin/sh").canonicalize().unwrap()
    );
}

#[test]
fn trap_21_a_system_that_keeps_its_shell_elsewhere_behind_links() {
    let world = World::new();
    let real = world.write("store/hash-bash/bin/bash", "#!");
    let places = [world.path("no/bin/bash"), world.path("sw/bin/bash")];
    std::fs::create_dir_all(world.path("sw/bin")).unwrap();
    symlink(&real, &places[1]).unwrap();
    for name in [&real, &places[1]] {
        assert_eq!(admit_among(name, &places).unwrap(), real);
    }
    // A copy is another program, whatever it is called.
    let copy = world.write("home/bin/bash", "#!");
    let error = admit_among(&copy, &places).unwrap_err();
    assert_eq!(error.code(), "not_shell");
    let way_out = format!("this system has {}", places[1].display());
    assert!(error.to_string().ends_with(&way_out), "{error}");
}

#[test]
fn a_program_that_is_no_shell_or_not_there_refuses() {
    for program in ["/usr/bin/env", "/nonexistent/bash", "/bin"] {
        assert_eq!(admit(Path::new(program)).unwrap_err().code(), "not_shell", "{program}");
    }
}
