use super::*;
use crate::fixture::World;
use rstest::rstest;
use rustix::fs::{CWD, Mode, mknodat};
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

fn found(bytes: &[u8], total: u64) -> Observation {
    Observation::Found {
        bytes: bytes.to_vec(),
        digest: Digest::of(bytes),
        total,
    }
}

/// A workspace beside a secret.
fn world() -> World {
    let world = World::new();
    world.write("secret", "secret");
    world.write("work/file", "content");
    world.write("work/dir/inner", "inner");
    world.write("work/empty", "");
    world.write("work-2/file", "other");
    symlink("../secret", world.path("work/link")).unwrap();
    symlink("dir", world.path("work/dirlink")).unwrap();
    symlink("nowhere", world.path("work/dangling")).unwrap();
    fs::hard_link(world.path("secret"), world.path("work/hard")).unwrap();
    mknodat(CWD, world.path("work/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    world
}

#[rstest]
#[case("file", found(b"content", 7))]
#[case("./dir//inner", found(b"inner", 5))]
#[case("empty", found(b"", 0))]
#[case("missing", Observation::Absent)]
#[case("missing/file", Observation::Absent)]
#[case("", Observation::Refused(Refusal::Malformed))]
#[case("a\0b", Observation::Refused(Refusal::Malformed))]
#[case(".", Observation::Refused(Refusal::NotRegular("directory")))]
#[case("dir", Observation::Refused(Refusal::NotRegular("directory")))]
#[case("dir/", Observation::Refused(Refusal::NotRegular("directory")))]
#[case("pipe", Observation::Refused(Refusal::NotRegular("fifo")))]
#[case("../secret", Observation::Refused(Refusal::Parent))]
#[case("dir/../file", Observation::Refused(Refusal::Parent))]
#[case("missing/../file", Observation::Refused(Refusal::Parent))]
#[case("/etc/passwd", Observation::Refused(Refusal::Outside))]
#[case("link", Observation::Refused(Refusal::Symlink("link".into())))]
#[case("dangling", Observation::Refused(Refusal::Symlink("dangling".into())))]
#[case("dirlink/inner", Observation::Refused(Refusal::Symlink("dirlink".into())))]
#[case("file/inner", Observation::Refused(Refusal::NotDirectory("file".into())))]
#[case("hard", Observation::Refused(Refusal::HardLinked { links: 2 }))]
fn each_path_has_its_answer(#[case] path: &str, #[case] answer: Observation) {
    let world = world();
    let confined = Confined::open(&world.path("work")).unwrap();
    assert_eq!(confined.read(Path::new(path), ReadCap::MAXIMUM), answer);
}

#[test]
fn absolute_paths_of_the_workspace_and_of_its_other_name_are_read() {
    let world = world();
    let confined = Confined::open(&world.path("work")).unwrap().also_at("/workspace");
    for path in [world.path("work/file"), "/workspace/file".into()] {
        assert_eq!(confined.read(&path, ReadCap::MAXIMUM), found(b"content", 7));
    }
    // A neighbour whose name begins alike is not inside.
    let neighbour = confined.read(&world.path("work-2/file"), ReadCap::MAXIMUM);
    assert_eq!(neighbour, Observation::Refused(Refusal::Outside));
}

#[test]
fn the_cap_cuts_and_the_total_says_so() {
    let world = world();
    let confined = Confined::open(&world.path("work")).unwrap();
    let cut = confined.read(Path::new("file"), ReadCap::new(3).unwrap());
    assert_eq!(cut, found(b"con", 7));
    assert!(cut.truncated());
    assert!(!confined.read(Path::new("file"), ReadCap::new(7).unwrap()).truncated());
}

#[rstest]
#[case(0)]
#[case(1024 * 1024 + 1)]
fn a_cap_out_of_range_is_refused(#[case] bytes: usize) {
    assert_eq!(ReadCap::new(bytes).unwrap_err().code(), "read_cap");
}

#[test]
fn a_name_that_is_no_text_is_read() {
    let world = world();
    let name = std::ffi::OsStr::from_bytes(b"\xff\n");
    fs::write(world.path("work").join(name), "bytes").unwrap();
    let confined = Confined::open(&world.path("work")).unwrap();
    assert_eq!(confined.read(Path::new(name), ReadCap::MAXIMUM), found(b"bytes", 5));
}

#[test]
fn a_read_that_fails_half_way_is_neither_found_nor_refused() {
    // The kernel opens a process's memory as a regular file and fails the read of its first page.
    let confined = Confined::open(Path::new(&format!("/proc/{}", std::process::id()))).unwrap();
    let answer = confined.read(Path::new("mem"), ReadCap::MAXIMUM);
    assert!(
        matches!(&answer, Observation::ReadError { partial, digest, .. } if partial.is_empty() && *digest == Digest::of(b"")),
        "{answer:?}"
    );
}

#[test]
fn a_root_reached_through_a_link_is_refused() {
    let world = world();
    assert_eq!(
        Confined::open(&world.path("work/dirlink")).unwrap_err().code(),
        "open_root"
    );
}

/// A directory that is swapped for a link while it is read must never lend what lies behind the link.
#[test]
fn a_swapped_directory_never_leaks() {
    let world = World::new();
    world.write("outside/file", "secret");
    world.write("work/real/file", "public");
    symlink(world.path("outside"), world.path("work/link")).unwrap();
    let confined = Confined::open(&world.path("work")).unwrap();
    let work = fs::File::open(world.path("work")).unwrap();
    let done = AtomicBool::new(false);
    let (mut reads, mut refusals) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(&work, "real", &work, "link", rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        // Both answers have to occur, or the race was not run.
        while reads < 500 || refusals < 500 {
            match confined.read(Path::new("real/file"), ReadCap::MAXIMUM) {
                Observation::Found { bytes, .. } => {
                    assert_eq!(bytes, b"public");
                    reads += 1;
                }
                Observation::Refused(Refusal::Symlink(_) | Refusal::NotDirectory(_)) => refusals += 1,
                other => panic!("{other:?}"),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
