use super::*;
use rstest::rstest;

#[rstest]
#[case::nothing(&[], Captured::default())]
#[case::head_only(&["ab"], Captured { head: b"ab".into(), tail: vec![], tail_offset: 2, total_bytes: 2 })]
#[case::head_and_tail(&["abcd", "e"], Captured { head: b"abc".into(), tail: b"de".into(), tail_offset: 3, total_bytes: 5 })]
#[case::gap(&["abcdef", "gh"], Captured { head: b"abc".into(), tail: b"gh".into(), tail_offset: 6, total_bytes: 8 })]
#[case::large_piece(&["abcdefghij"], Captured { head: b"abc".into(), tail: b"ij".into(), tail_offset: 8, total_bytes: 10 })]
fn keeps_both_ends(#[case] pieces: &[&str], #[case] expected: Captured) {
    let mut recorder = Recorder::new(Window { head: 3, tail: 2 });
    for piece in pieces {
        recorder.push(piece.as_bytes());
    }
    assert_eq!(recorder.finish(), expected);
}

#[test]
fn says_what_is_missing() {
    let mut recorder = Recorder::new(Window { head: 1, tail: 1 });
    recorder.push(b"abcd");
    let captured = recorder.finish();
    assert_eq!(
        (captured.gap(), captured.truncated(), captured.complete()),
        (Some(1..3), true, None)
    );
}

proptest::proptest! {
    #[test]
    fn however_a_stream_is_cut_the_same_is_kept(
        stream: Vec<u8>, cuts in proptest::collection::vec(1usize..9, 0..40), head in 0usize..20, tail in 0usize..20,
    ) {
        let mut recorder = Recorder::new(Window { head, tail });
        let mut rest = stream.as_slice();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            recorder.push(piece);
            rest = after;
        }
        recorder.push(rest);
        let captured = recorder.finish();
        let first = head.min(stream.len());
        let last = tail.min(stream.len() - first);
        proptest::prop_assert_eq!(&captured.head, &stream[..first]);
        proptest::prop_assert_eq!(&captured.tail, &stream[stream.len() - last..]);
        proptest::prop_assert_eq!(captured.total_bytes, stream.len() as u64);
        proptest::prop_assert_eq!(captured.truncated(), first + last < stream.len());
        if let Some(whole) = captured.complete() {
            proptest::prop_assert_eq!(whole.as_ref(), stream.as_slice());
        }
    }
}
