use super::*;
use crate::testing::World;
use std::fs;
use std::os::unix::fs::symlink;

fn names(world: &World, directory: &str) -> Vec<String> {
    let entries = fs::read_dir(world.path(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_link_left_in_its_place_leads_nowhere() {
    let world = World::new();
    let victim = world.write("outside/victim", "kept");
    let report = world.path("work/report.json");
    fs::create_dir(world.path("work")).unwrap();
    let place = ReportFile::open(&report).unwrap();
    assert_eq!(
        names(&world, "work"),
        [""; 0],
        "nothing of ours lies there while the command runs"
    );
    symlink(&victim, &report).unwrap();
    place.write(b"{}").unwrap();
    assert_eq!(
        (
            fs::read_to_string(&victim).unwrap().as_str(),
            fs::read(&report).unwrap().as_slice()
        ),
        ("kept", &b"{}"[..])
    );
    // The directory too is the one that was there before.
    let place = ReportFile::open(&report).unwrap();
    fs::rename(world.path("work"), world.path("moved")).unwrap();
    symlink(world.path("outside"), world.path("work")).unwrap();
    place.write(b"[]").unwrap();
    assert_eq!(
        (names(&world, "outside"), names(&world, "moved")),
        (vec!["victim".to_owned()], vec!["report.json".to_owned()])
    );
    assert_eq!(fs::read(world.path("moved/report.json")).unwrap(), b"[]");
}

#[test]
fn a_name_taken_by_the_command_is_told_and_nothing_is_overwritten() {
    let world = World::new();
    let victim = world.write("victim", "kept");
    fs::create_dir(world.path("work")).unwrap();
    let place = ReportFile::open(&world.path("work/report.json")).unwrap();
    symlink(&victim, world.path("work").join(place.new_name())).unwrap();
    assert_eq!(place.write(b"{}").unwrap_err().code(), "io");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
}

#[test]
fn a_place_that_cannot_be_written_refuses_at_once() {
    let world = World::new();
    world.write("file", "");
    symlink(world.path("file"), world.path("link")).unwrap();
    let link = world.path("link");
    for path in [
        link.to_str().unwrap(),
        "/dev/null",
        "/no/such/place",
        "/proc/report.json",
        "/",
        world.path("file/x").to_str().unwrap(),
    ] {
        assert_eq!(ReportFile::open(Path::new(path)).unwrap_err().code(), "io", "{path}");
    }
}

#[test]
fn a_page_replaces_nothing_unless_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page.html");
    let place = ReportFile::open_page(&path, Existing::Keep).unwrap();
    // One that came to be there meanwhile stays too.
    std::fs::write(&path, "mine").unwrap();
    let refused = [
        place.write(b"page").unwrap_err(),
        ReportFile::open_page(&path, Existing::Keep).unwrap_err(),
    ];
    for error in refused {
        let expected = format!(
            "could not write the page {}: a file is there already: --force replaces it",
            path.display()
        );
        assert_eq!(error.message(), expected);
    }
    let names = || std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names()), ("mine", 1));
    ReportFile::open_page(&path, Existing::Replace)
        .unwrap()
        .write(b"page")
        .unwrap();
    assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names()), ("page", 1));
}
