//! Tests of `caches`: which are shown, and as what. That they work is tested with the real tools.

use super::*;
use crate::Scratch;
use crate::paths::grant;
use rstest::rstest;

fn cache(path: PathBuf, place: &str) -> Cache {
    Cache {
        path,
        place: place.into(),
        linked_depth: None,
    }
}

#[rstest]
#[case::read(Mode::Read, "", None, true)]
#[case::a_part_of_what_is_read(Mode::Read, "inner", None, true)]
// A command could put a link in its place between two commands.
#[case::written(Mode::Write, "", None, false)]
#[case::sealed_in_it(Mode::Read, "", Some("inner"), false)]
#[case::a_file(Mode::Read, "file", None, false)]
fn what_can_be_shown(#[case] mode: Mode, #[case] below: &str, #[case] sealed: Option<&str>, #[case] expected: bool) {
    let base = tempfile::tempdir().unwrap();
    let real = base.path().canonicalize().unwrap();
    fs::create_dir(real.join("inner")).unwrap();
    fs::write(real.join("file"), "").unwrap();
    let grants = [grant("read", &real, mode).unwrap()];
    let sealed: Vec<PathBuf> = sealed.iter().map(|name| real.join(name)).collect();
    let found = readable(&cache(real.join(below), "cache"), &grants, &sealed).unwrap();
    assert_eq!(found.is_some(), expected);
}

#[rstest]
#[case("")]
#[case("/absolute")]
#[case("../outside")]
#[case("a/../b")]
fn a_place_outside_the_home_is_refused(#[case] place: &str) {
    let refused = readable(&cache("/usr".into(), place), &[], &[]).unwrap_err();
    assert_eq!(refused.code(), "cache_place");
}

#[test]
fn where_nothing_can_be_stacked_links_and_empty_caches_take_its_place() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path().canonicalize().unwrap();
    // The kernel takes a colon for the end of a path.
    let real = base.join("a:b");
    fs::create_dir_all(real.join("index/registry/.cache/se")).unwrap();
    fs::create_dir_all(real.join("cache/registry")).unwrap();
    fs::write(real.join("cache/registry/one.crate"), "").unwrap();
    let grants = [grant("read", &real, Mode::Read).unwrap()];
    let scratch = Scratch::create(&base).unwrap();
    let wanted = [
        Cache {
            linked_depth: Some(2),
            ..cache(real.clone(), ".cargo/registry")
        },
        cache(real.join("index"), ".cache/other"),
    ];
    let places = Places::beside(&grants);
    let caches = Caches::prepare(&wanted, &grants, &[], &places, &scratch.into()).unwrap();
    let methods: Vec<CacheMethod> = caches.shown.iter().map(|shown| shown.method).collect();
    assert_eq!(methods, [CacheMethod::Linked, CacheMethod::Private]);
    let links = |name: &str| (Path::new("/home/agent/.cargo/registry").join(name), real.join(name));
    assert_eq!(
        caches.links,
        [links("cache/registry/one.crate"), links("index/registry/.cache")]
    );
    assert!(caches.acts(&Private::Memory, None).unwrap().is_empty());
}

#[test]
fn a_cache_with_more_entries_than_are_linked_begins_empty() {
    let base = tempfile::tempdir().unwrap();
    for number in 0..=16_384 {
        fs::write(base.path().join(number.to_string()), "").unwrap();
    }
    assert_eq!(links::of(base.path(), Some(0)), None);
    fs::remove_file(base.path().join("0")).unwrap();
    assert_eq!(links::of(base.path(), Some(0)).unwrap().len(), 16_384);
}
