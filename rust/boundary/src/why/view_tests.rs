use super::*;
use rstest::rstest;

fn steps(source: &Path) -> Vec<Step> {
    let path = |text: &str| std::ffi::CString::new(text).unwrap();
    let host = std::ffi::CString::new(source.as_os_str().as_bytes()).unwrap();
    let read_only = libc::MOUNT_ATTR_RDONLY;
    vec![
        Step::MemoryRoot { options: path("") },
        Step::Directory { path: path("tmp") },
        Step::Link {
            content: path("work/inner"),
            path: path("short"),
        },
        Step::Link {
            content: path("/round"),
            path: path("round"),
        },
        Step::Writable { at: path("tmp") },
        Step::Directory { path: path("work") },
        Step::Show {
            source: host.clone(),
            at: path("work"),
            attributes: 0,
            presence: Presence::Required,
        },
        Step::Attributes {
            at: path("."),
            recursive: Recursive::No,
            attributes: read_only,
        },
        Step::Empty {
            at: path("work/sealed"),
            kind: Kind::Directory,
            attributes: read_only,
        },
    ]
}

#[rstest]
#[case::file("/work/inner/file", Node::File, false, "/work")]
#[case::link("/short/file", Node::File, false, "/work")]
#[case::back("/work/inner/../inner/file", Node::File, false, "/work")]
#[case::covered("/work/sealed/secret", Node::Nothing, true, "/work/sealed")]
#[case::covering("/work/sealed", Node::Directory, true, "/work/sealed")]
#[case::root("/", Node::Directory, true, "/")]
#[case::own("/tmp", Node::Directory, false, "/tmp")]
#[case::new("/tmp/new", Node::Nothing, false, "/tmp")]
#[case::round("/round/x", Node::Nothing, true, "/")]
#[case::through_a_file("/work/inner/file/x", Node::Nothing, false, "/work")]
#[case::absent("/etc/passwd", Node::Nothing, true, "/")]
fn each_place_lies_in_its_innermost_mount(
    #[case] path: &str,
    #[case] node: Node,
    #[case] read_only: bool,
    #[case] mounted: &str,
) {
    let base = tempfile::tempdir().unwrap();
    fs::create_dir(base.path().join("inner")).unwrap();
    fs::create_dir(base.path().join("sealed")).unwrap();
    fs::write(base.path().join("sealed/secret"), "").unwrap();
    fs::write(base.path().join("inner/file"), "").unwrap();
    let steps = steps(base.path());
    let seen = View::new(steps.iter()).look(Path::new(path));
    assert_eq!(
        (seen.node, seen.read_only, seen.mounted.as_path()),
        (node, read_only, Path::new(mounted))
    );
}
