use super::*;
use proptest::prelude::*;
use rstest::rstest;

#[rstest]
#[case::name("example.org", "example.org")]
#[case::case_does_not_count("EXAMPLE.Org", "example.org")]
#[case::one_label("registry", "registry")]
#[case::punycode("xn--bcher-kva.example", "xn--bcher-kva.example")]
#[case::digits_first("1password.com", "1password.com")]
#[case::digits_inside("a.1.b", "a.1.b")]
#[case::four("192.0.2.7", "192.0.2.7")]
#[case::six("[2001:DB8::1]", "[2001:db8::1]")]
fn a_host_has_one_spelling(#[case] written: &str, #[case] shown: &str) {
    assert_eq!(HostName::parse(written.as_bytes()).unwrap().to_string(), shown);
}

/// What parsers are known to read in more than one way.
#[rstest]
#[case::empty(b"")]
#[case::nul(b"example.org\0.evil.test")]
#[case::nul_at_the_end(b"example.org\0")]
#[case::percent(b"example%2eorg")]
#[case::percent_nul(b"example.org%00.evil.test")]
#[case::user(b"user@example.org")]
#[case::user_and_password(b"example.org:443@evil.test")]
#[case::space(b"example .org")]
#[case::space_before(b" example.org")]
#[case::space_after(b"example.org ")]
#[case::tab(b"example.org\t")]
#[case::line_end(b"example.org\r\nHost: evil.test")]
#[case::dot_at_the_end(b"example.org.")]
#[case::dot_at_the_beginning(b".example.org")]
#[case::two_dots(b"example..org")]
#[case::only_a_dot(b".")]
#[case::other_script("exämple.org".as_bytes())]
#[case::full_width("ｅxample.org".as_bytes())]
#[case::ideographic_dot("example。org".as_bytes())]
#[case::soft_hyphen("exam\u{ad}ple.org".as_bytes())]
#[case::not_utf8(b"example\xff.org")]
#[case::backslash(b"example.org\\@evil.test")]
#[case::slash(b"example.org/evil.test")]
#[case::question_mark(b"example.org?evil.test")]
#[case::fragment(b"example.org#evil.test")]
#[case::comma(b"example.org,evil.test")]
#[case::star(b"*.example.org")]
#[case::underscore(b"_dmarc.example.org")]
#[case::hyphen_first(b"-example.org")]
#[case::hyphen_last(b"example-.org")]
#[case::octal(b"0177.0.0.1")]
#[case::octal_last(b"127.0.0.01")]
#[case::hexadecimal(b"0x7f.0.0.1")]
#[case::hexadecimal_last(b"127.0.0.0x1")]
#[case::one_number(b"2130706433")]
#[case::one_hexadecimal_number(b"0x7f000001")]
#[case::bare_hexadecimal(b"127.0.0.0x")]
#[case::short(b"127.1")]
#[case::five(b"127.0.0.1.1")]
#[case::too_large(b"127.0.0.256")]
#[case::zone(b"[fe80::1%eth0]")]
#[case::encoded_zone(b"[fe80::1%25eth0]")]
#[case::mapped(b"[::ffff:127.0.0.1]")]
#[case::mapped_hexadecimal(b"[::ffff:7f00:1]")]
#[case::six_without_brackets(b"::1")]
#[case::open_bracket(b"[::1")]
#[case::four_in_brackets(b"[127.0.0.1]")]
#[case::name_in_brackets(b"[example.org]")]
#[case::bracket_twice(b"[[::1]]")]
#[case::long_label(&[b'a'; 64])]
fn what_can_be_read_in_two_ways_is_no_host(#[case] written: &[u8]) {
    HostName::parse(written).unwrap_err();
}

#[test]
fn a_name_has_at_most_253_bytes() {
    let name = |bytes: usize| vec!["a"; bytes.div_ceil(2)].join(".");
    assert_eq!(name(253).len(), 253);
    HostName::parse(name(253).as_bytes()).unwrap();
    HostName::parse(name(255).as_bytes()).unwrap_err();
}

#[rstest]
#[case(b"0")]
#[case(b"00443")]
#[case(b"0443")]
#[case(b"65536")]
#[case(b"99999")]
#[case(b"+443")]
#[case(b"-1")]
#[case(b" 443")]
#[case(b"443 ")]
#[case(b"")]
#[case(b"0x1bb")]
#[case("４４３".as_bytes())]
fn a_port_has_one_spelling(#[case] written: &[u8]) {
    port(written).unwrap_err();
}

#[rstest]
#[case("example.org:443", ("example.org", Some(443)))]
#[case("example.org", ("example.org", None))]
#[case("[::1]:8080", ("[::1]", Some(8080)))]
fn an_authority_is_a_host_and_a_port(#[case] written: &str, #[case] expected: (&str, Option<u16>)) {
    let (host, port) = authority(written.as_bytes()).unwrap();
    assert_eq!((host.to_string().as_str(), port), expected);
}

#[rstest]
#[case("example.org:443:80")]
#[case("example.org:")]
#[case(":443")]
#[case("[::1]443")]
#[case("[::1]:")]
#[case("[::1]x:443")]
#[case("::1:443")]
fn what_is_no_authority(#[case] written: &str) {
    authority(written.as_bytes()).unwrap_err();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic_and_what_is_shown_reads_the_same(bytes: Vec<u8>) {
        if let Ok((host, port)) = authority(&bytes) {
            let shown = port.map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
            prop_assert_eq!(authority(shown.as_bytes()), Ok((host, port)));
        }
    }
}
