use super::*;
use proptest::prelude::*;

fn cut_anew(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let pieces = stream::iter(pieces.iter().map(|piece| Ok::<_, ()>(*piece)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(whole_lines(pieces).map(Result::unwrap).collect())
}

/// A reply of a mebibyte that came in one event cost 25 seconds.
#[test]
fn a_long_line_comes_as_one_piece() {
    let line = [b"data: ".as_slice(), &vec![b'a'; 1 << 20], b"\n\n"].concat();
    let pieces: Vec<&[u8]> = line.chunks(1000).collect();
    assert_eq!(cut_anew(&pieces), [line]);
}

#[test]
fn lines_of_every_kind_are_passed_on_when_they_end() {
    let pieces: [&[u8]; 5] = [b"a\nb", b"c\r", b"d\r\ne", b"f", b"g"];
    assert_eq!(
        cut_anew(&pieces),
        [b"a\n".to_vec(), b"bc\r".to_vec(), b"d\r\n".to_vec(), b"efg".to_vec()]
    );
}

#[test]
fn a_fault_ends_it() {
    let pieces = stream::iter([Ok(b"a".as_slice()), Err("broken"), Ok(b"b\n")]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let seen: Vec<_> = runtime.block_on(whole_lines(pieces).collect());
    assert_eq!(seen, [Err("broken")]);
}

proptest! {
    #[test]
    fn no_byte_is_lost_or_moved(pieces in prop::collection::vec("[ab\r\n]{0,4}", 0..12)) {
        let bytes: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
        let cut = cut_anew(&bytes);
        prop_assert_eq!(cut.concat(), bytes.concat());
        let (_, whole) = cut.split_last().unwrap_or((const { &Vec::new() }, &[]));
        prop_assert!(whole.iter().all(|piece| piece.ends_with(b"\n") || piece.ends_with(b"\r")));
    }
}
