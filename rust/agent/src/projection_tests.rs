use super::*;
use proptest::prelude::*;
use rstest::rstest;

fn whole(text: &str) -> Captured {
    Captured::whole(text)
}

#[rstest]
#[case::nothing("", "", "")]
#[case::joined("out\n", "err\n", "out\nerr\n")]
#[case::on_lines_of_their_own("out", "err", "out\nerr")]
#[case::only_errors("", "err", "err")]
fn short_output_is_whole(#[case] stdout: &str, #[case] stderr: &str, #[case] projected: &str) {
    assert_eq!(project_output(&whole(stdout), &whole(stderr)), projected);
}

#[test]
fn twelve_thousand_characters_are_whole_and_one_more_is_cut() {
    let text = "é".repeat(12_000);
    assert_eq!(project_output(&whole(&text), &whole("")), text);
    let ends = "é".repeat(6_000);
    assert_eq!(
        project_output(&whole(&format!("{ends}x{ends}")), &whole("")),
        format!("{ends}\n[… 1 characters left out …]\n{ends}")
    );
}

#[test]
fn bytes_that_are_no_text_are_shown_replaced() {
    assert_eq!(
        project_output(&Captured::whole(*b"a\xff\xfeb"), &whole("")),
        "a\u{fffd}\u{fffd}b"
    );
}

/// Report 25: what the host itself did not keep shows in the text that the model reads.
#[test]
fn what_was_not_kept_is_said() {
    let stdout = Captured {
        head: b"head".to_vec(),
        dropped: 7,
        tail: b"tail\n".to_vec(),
    };
    assert_eq!(
        project_output(&stdout, &whole("err")),
        "head\n[… 7 bytes that were not kept …]\ntail\nerr"
    );
    let long = Captured {
        head: vec![b'h'; 20_000],
        dropped: 1_000,
        tail: vec![b't'; 20_000],
    };
    assert_eq!(
        project_output(&long, &whole("")),
        format!(
            "{}\n[… 28000 characters left out, and 1000 bytes that were not kept …]\n{}",
            "h".repeat(6_000),
            "t".repeat(6_000)
        )
    );
    let all_in_the_tail = Captured {
        head: vec![b'h'; 20_000],
        dropped: 5,
        tail: b"end".to_vec(),
    };
    assert_eq!(
        project_output(&all_in_the_tail, &whole("")),
        format!(
            "{}\n[… 8003 characters left out …]\n{}\n[… 5 bytes that were not kept …]\nend",
            "h".repeat(6_000),
            "h".repeat(5_997)
        )
    );
}

#[rstest]
#[case("a\n\tb  c", 10, "a b c")]
#[case("abcdef", 3, "abc…")]
#[case("abc", 3, "abc")]
#[case("", 3, "")]
#[case("ééé é", 4, "ééé …")]
fn one_line_is_one_line(#[case] text: &str, #[case] count: usize, #[case] line: &str) {
    assert_eq!(one_line(text, count), line);
}

#[rstest]
#[case("a", "```x\na\n```\n")]
#[case("", "```x\n```\n")]
#[case("```\nb\n", "````x\n```\nb\n````\n")]
#[case("`````", "``````x\n`````\n``````\n")]
fn no_content_closes_its_fence(#[case] content: &str, #[case] fenced: &str) {
    let mut text = String::new();
    push_fenced(&mut text, "x", content);
    assert_eq!(text, fenced);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_projection_is_bounded_and_keeps_both_ends(
        stdout in proptest::collection::vec(any::<u8>(), 0..30_000),
        stderr in proptest::collection::vec(any::<u8>(), 0..2_000),
        dropped in 0_u64..3,
    ) {
        let middle = stdout.len() / 2;
        let captured = Captured { head: stdout[..middle].to_vec(), dropped, tail: stdout[middle..].to_vec() };
        let projected = project_output(&captured, &Captured::whole(stderr));
        prop_assert!(projected.chars().count() <= OUTPUT_HEAD_CHARACTERS + OUTPUT_TAIL_CHARACTERS + 160);
        prop_assert_eq!(projected.contains("bytes that were not kept"), dropped > 0);
    }

    #[test]
    fn ends_are_those_of_the_whole(pieces in proptest::collection::vec("[a-zé]{0,9}", 0..40), head in 0_usize..20, tail in 1_usize..20) {
        let whole = pieces.concat();
        let mut ends = Ends::default();
        for piece in &pieces {
            ends.push(piece, head, tail);
        }
        let count = whole.chars().count();
        let expected = if count <= head + tail {
            whole.clone()
        } else {
            let mut text = first(&whole, head).to_owned();
            end_line(&mut text);
            format!("{text}[… {} characters left out …]\n{}", count - head - tail, last(&whole, tail))
        };
        prop_assert_eq!(ends.render(tail), expected);
    }

    #[test]
    fn first_and_last_count_characters(text in ".{0,30}", count in 0_usize..40) {
        let characters: Vec<char> = text.chars().collect();
        let kept = count.min(characters.len());
        prop_assert_eq!(first(&text, count), characters[..kept].iter().collect::<String>());
        prop_assert_eq!(last(&text, count), characters[characters.len() - kept..].iter().collect::<String>());
    }
}
