//! What a quoted word must survive: the crate's own splitting, and a real bash with everything that bash expands.
//! The judge's tests of the repair of RUSTSEC-2024-0006; the repaired checkout does not hold them.

use std::process::Command;

/// Every ASCII character but NUL alone, and between letters; then what bash expands only as a whole.
fn words() -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for byte in 1..128_u8 {
        let character = byte as char;
        words.push(character.to_string());
        words.push(format!("a{character}b"));
        words.push(format!("{character}{character}"));
    }
    for whole in [
        "{a,b}", "{1..3}", "x{a,b}y", "{a,{b,c}}", "{}", "}{", "${HOME}", "$(true)", "`true`", "~", "~root", "*", "[a-z]*",
        "a=b", "#a", "\u{a0}", "a\u{a0}b", "é", "à", "\u{feff}", "%1", "a;b", "a&b", "a|b", "-n",
    ] {
        words.push(whole.to_owned());
    }
    words
}

/// The arguments that bash makes of a command line, one per NUL.
fn read_by_bash(line: &str) -> Vec<String> {
    let output = Command::new("bash")
        .args(["--norc", "-c", &format!("printf '%s\\0' {line}")])
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("bash starts");
    assert!(output.status.success(), "bash refuses {}", line);
    let text = String::from_utf8(output.stdout).expect("bash answers in UTF-8");
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn bash_reads_every_quoted_word_as_it_was() {
    let words = words();
    assert_eq!(read_by_bash(&shlex::join(words.iter().map(String::as_str))), words);
}

#[test]
fn splitting_a_quoted_word_gives_it_back() {
    for word in words() {
        assert_eq!(shlex::split(&shlex::quote(&word)), Some(vec![word]));
    }
    for high in 128..=255_u8 {
        let word = [b'a', high, b'b'];
        assert_eq!(shlex::bytes::split(&shlex::bytes::quote(&word)), Some(vec![word.to_vec()]));
    }
}

#[test]
fn the_byte_that_some_shells_take_for_a_blank_is_quoted() {
    assert_eq!(shlex::bytes::split(&shlex::bytes::quote(b"a\xa0b")), Some(vec![b"a\xa0b".to_vec()]));
    assert_ne!(&*shlex::bytes::quote(b"a\xa0b"), b"a\xa0b");
    assert_ne!(shlex::quote("a\u{a0}b"), "a\u{a0}b");
}

#[test]
fn a_plain_word_is_left_alone() {
    for plain in ["a", "src/lib.rs", "--flag", "a.b_c-d", "é", "1+2", "user@host", "a,b"] {
        assert_eq!(shlex::quote(plain), plain);
    }
}
