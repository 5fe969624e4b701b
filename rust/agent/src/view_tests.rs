use super::*;
use crate::environment::Ran;
use std::collections::BTreeMap;

#[derive(Default)]
struct Files(BTreeMap<&'static str, Viewed>);

impl Env for Files {
    fn description(&self) -> &'static str {
        ""
    }
    fn stopped(&mut self) -> bool {
        false
    }
    fn messages(&mut self) -> Vec<String> {
        Vec::new()
    }
    fn run(&mut self, _script: &str) -> Ran {
        panic!("a view runs nothing")
    }
    fn view(&mut self, path: &str) -> Viewed {
        self.0.get(path).cloned().unwrap_or(Viewed::Absent)
    }
}

fn file(text: &str) -> Viewed {
    Viewed::File {
        bytes: text.as_bytes().to_vec(),
        total_bytes: None,
    }
}

fn paths(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn shown(view: &mut View, step: u32, show: Show) -> String {
    let mut text = String::new();
    view.show(&mut text, step, show);
    text
}

#[test]
fn every_kind_of_file_and_what_changes() {
    let mut files = Files::default();
    files.0.insert("a.rs", file("fn a() {}\n"));
    files.0.insert(
        "b.bin",
        Viewed::File {
            bytes: b"\0\x01".to_vec(),
            total_bytes: Some(9),
        },
    );
    files
        .0
        .insert("c", Viewed::Refused("a link leads out of the workspace.".to_owned()));
    files.0.insert("e", file(""));
    let mut view = View::default();
    assert_eq!(shown(&mut view, 1, Show::Changes), "Files in view: none.\n");

    let chosen = view.choose(&paths(&["a.rs", "b.bin", "c", "d", "e", "a.rs"]));
    assert_eq!(chosen, Chosen { new: 5, note: None });
    view.read(&mut files).unwrap();
    let everything = "Files in view:\n\n`a.rs`:\n```\nfn a() {}\n```\n\n`b.bin`: not text, 9 bytes.\n\n`c`: not readable: a link \
                      leads out of the workspace.\n\n`d`: no such file.\n\n`e`: empty.\n";
    assert_eq!(shown(&mut view, 2, Show::Changes), everything);

    files.0.insert("a.rs", file("fn b() {}"));
    files.0.insert("d", file("new"));
    view.read(&mut files).unwrap();
    assert_eq!(
        shown(&mut view, 3, Show::Changes),
        "Files in view:\n\n`a.rs`:\n```\nfn b() {}\n```\n\n`b.bin`: unchanged, as shown before step 2.\n\n`c`: unchanged, as \
         shown before step 2.\n\n`d`:\n```\nnew\n```\n\n`e`: unchanged, as shown before step 2.\n"
    );
    assert_eq!(view.choose(&paths(&["e", "a.rs"])), Chosen { new: 0, note: None });
    view.read(&mut files).unwrap();
    assert_eq!(
        shown(&mut view, 9, Show::Everything),
        "Files in view:\n\n`e`: empty.\n\n`a.rs`:\n```\nfn b() {}\n```\n"
    );
    assert_eq!(
        shown(&mut view, 10, Show::Changes),
        "Files in view:\n\n`e`: unchanged, as shown before step 9.\n\n`a.rs`: unchanged, as shown before step 9.\n"
    );
}

#[test]
fn names_are_bounded_and_the_model_is_told() {
    let mut view = View::default();
    let many: Vec<String> = (0..15).map(|index| format!("f{index}")).collect();
    assert_eq!(
        view.choose(&many),
        Chosen {
            new: 12,
            note: Some("At most 12 files are in view; the last 3 you named are not.".to_owned())
        }
    );
    assert_eq!(view.paths(), many[..12]);
    let wild = [String::new(), "a\0b".to_owned(), "x".repeat(4_097), "f3".to_owned()];
    assert_eq!(
        view.choose(&wild),
        Chosen {
            new: 0,
            note: Some("3 of the names in `view` cannot be a path.".to_owned())
        }
    );
    assert_eq!(view.paths(), ["f3"]);
}

#[test]
fn one_file_and_all_files_together_are_bounded() {
    let mut files = Files::default();
    files.0.insert("a", file(&"é".repeat(40_001)));
    files.0.insert("b", file(&"b".repeat(40_000)));
    files.0.insert("c", file(&"c".repeat(39_999)));
    files.0.insert("d", file("dd"));
    files.0.insert("e", file("e"));
    let mut view = View::default();
    view.choose(&paths(&["a", "b", "c", "d", "e"]));
    view.read(&mut files).unwrap();
    let goes_on = "The file goes on; read the rest with a command.\n";
    assert_eq!(
        shown(&mut view, 1, Show::Changes),
        format!(
            "Files in view:\n\n`a`:\n```\n{}\n```\n{goes_on}\n`b`:\n```\n{}\n```\n\n`c`:\n```\n{}\n```\n\n`d`:\n```\nd\n```\n\
             {goes_on}\n`e`:\n```\n```\n{goes_on}",
            "é".repeat(40_000),
            "b".repeat(40_000),
            "c".repeat(39_999)
        )
    );
}

#[test]
fn a_failed_read_is_a_fault() {
    let mut files = Files::default();
    let fault = HostFault("cannot read a: input/output error".to_owned());
    files.0.insert("a", Viewed::Fault(fault.clone()));
    let mut view = View::default();
    view.choose(&paths(&["a"]));
    assert_eq!(view.read(&mut files), Err(fault));
}
