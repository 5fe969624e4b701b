use super::*;
use crate::testing::World;
use proptest::prelude::*;

fn found_in(pieces: &[&[u8]]) -> HashSet<Digest> {
    let mut found = Found::default();
    for piece in pieces {
        found.text(piece);
    }
    found.named
}

proptest! {
    /// However a text is cut into pieces, and whatever stands around a name, the name is found.
    #[test]
    fn a_name_is_found_wherever_it_is_cut(before in "[^0-9a-f]{0,9}[0-9a-f]{0,9}", after in ".{0,9}", cut in 0_usize..90) {
        let digest = Digest::of(before.as_bytes());
        let text = format!("{before}{}{after}", digest.hex()).into_bytes();
        let (left, right) = text.split_at(cut.min(text.len()));
        prop_assert!(found_in(&[left, right]).contains(&digest));
    }
}

#[test]
fn what_is_no_name() {
    let hex = Digest::of(b"x").hex();
    assert!(found_in(&[hex.to_uppercase().as_bytes(), b" ", &hex.as_bytes()[1..], b" 0"]).is_empty());
}

#[test]
fn everything_that_speaks_in_a_store_names() {
    let world = World::new();
    let store = world.store();
    let kept = |name: &str, bytes: &[u8]| {
        let digest = Digest::of(bytes);
        let path = match name {
            "manifest" => super::super::leftovers::manifest(store.path(), &digest),
            _ => super::super::leftovers::blob(store.path(), &digest),
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        digest
    };
    let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|text| Digest::of(text.as_bytes()));
    world.submit(&store, "t", &format!("See {a}."));
    world.write("store/t.1.atif.jsonl", format!("{{\"manifest\":\"{b}\"}}"));
    let document = kept("blob", format!("[\"{c}\"]").as_bytes());
    let manifest = kept("manifest", format!("[\"{}\"]", document.hex()).as_bytes());
    world.write("store/worktrees/x.json", format!("{manifest}"));
    // Not speaking: what nothing names itself, what is unfinished, and what a boundary's commands wrote.
    kept("blob", format!("[\"{d}\"]").as_bytes());
    world.write("store/.half", e.to_string());
    world.write("store/scratch/t/a/home/file", e.to_string());
    let named = everything(&store).unwrap();
    assert_eq!(
        [a, b, c, d, e].map(|digest| named.contains(&digest)),
        [true, true, true, false, false]
    );
    assert!(named.contains(&document) && named.contains(&manifest));
}
