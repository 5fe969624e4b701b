use super::*;
use proptest::prelude::*;
use rstest::rstest;

fn asked(head: &str) -> Result<Asked, &'static str> {
    parse(head.as_bytes())
}

#[test]
fn a_tunnel() {
    let asked =
        asked("CONNECT Example.org:443 HTTP/1.1\r\nHost: other.test\r\nProxy-Authorization: x\r\n\r\n").unwrap();
    assert_eq!(
        asked,
        Asked {
            host: HostName::Name("example.org".to_owned()),
            port: 443,
            kind: Kind::Tunnel,
        }
    );
}

#[rstest]
#[case::path(
    "GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\n\r\n",
    80,
    "GET /x?y HTTP/1.1\r\nHost: a.test\r\n"
)]
#[case::no_path("GET http://a.test HTTP/1.0\r\n\r\n", 80, "GET / HTTP/1.0\r\nHost: a.test\r\n")]
#[case::query_alone(
    "GET HTTP://A.test:81?q HTTP/1.1\r\n\r\n",
    81,
    "GET /?q HTTP/1.1\r\nHost: a.test:81\r\n"
)]
#[case::six("GET http://[::1]:81/ HTTP/1.1\r\n\r\n", 81, "GET / HTTP/1.1\r\nHost: [::1]:81\r\n")]
fn what_is_passed_on_is_written_anew(#[case] head: &str, #[case] port: u16, #[case] begins: &str) {
    let asked = asked(head).unwrap();
    assert_eq!(asked.port, port);
    assert_eq!(
        asked.kind,
        Kind::Forward(format!("{begins}Connection: close\r\n\r\n").into_bytes())
    );
}

#[test]
fn headers_between_client_and_proxy_stay_here_and_others_pass_untouched() {
    let head = "POST http://a.test/ HTTP/1.1\r\nProxy-Connection: keep-alive\r\nproxy-authorization: secret\r\n\
                Connection: keep-alive\r\nUpgrade: h2c\r\nContent-Length: 3\r\nX-Odd:\t v \r\n\r\n";
    let expected = "POST / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 3\r\nX-Odd:\t v \r\n\r\n";
    assert_eq!(asked(head).unwrap().kind, Kind::Forward(expected.as_bytes().to_vec()));
}

#[rstest]
#[case::own_path("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")]
#[case::no_host("GET http:///x HTTP/1.1\r\n\r\n")]
#[case::one_slash("GET http:/a.test/ HTTP/1.1\r\n\r\n")]
#[case::backslashes("GET http:\\\\a.test\\ HTTP/1.1\r\n\r\n")]
#[case::encrypted("GET https://a.test/ HTTP/1.1\r\n\r\n")]
#[case::file("GET file:///etc/passwd HTTP/1.1\r\n\r\n")]
#[case::user("GET http://a.test@evil.test/ HTTP/1.1\r\n\r\n")]
#[case::password("GET http://a.test:80@evil.test/ HTTP/1.1\r\n\r\n")]
#[case::backslash("GET http://evil.test\\.a.test/ HTTP/1.1\r\n\r\n")]
#[case::fragment("GET http://a.test#@evil.test/ HTTP/1.1\r\n\r\n")]
#[case::fragment_late("GET http://a.test/#x HTTP/1.1\r\n\r\n")]
#[case::no_version("GET http://a.test/\r\n\r\n")]
#[case::old_version("GET http://a.test/ HTTP/0.9\r\n\r\n")]
#[case::new_version("GET http://a.test/ HTTP/2.0\r\n\r\n")]
#[case::two_spaces("GET  http://a.test/ HTTP/1.1\r\n\r\n")]
#[case::space_in_path("GET http://a.test/a b HTTP/1.1\r\n\r\n")]
#[case::tab("GET\thttp://a.test/ HTTP/1.1\r\n\r\n")]
#[case::bare_line_feed("GET http://a.test/ HTTP/1.1\nHost: evil.test\r\n\r\n")]
#[case::bare_line_feed_in_header("GET http://a.test/ HTTP/1.1\r\nX: y\nHost: evil.test\r\n\r\n")]
#[case::bare_return("GET http://a.test/ HTTP/1.1\r\nX: y\rZ: z\r\n\r\n")]
#[case::nul("GET http://a.test/\0 HTTP/1.1\r\n\r\n")]
#[case::nul_in_header("GET http://a.test/ HTTP/1.1\r\nX: \0\r\n\r\n")]
#[case::folded("GET http://a.test/ HTTP/1.1\r\nX: y\r\n z\r\n\r\n")]
#[case::space_before_colon("GET http://a.test/ HTTP/1.1\r\nHost : a.test\r\n\r\n")]
#[case::no_colon("GET http://a.test/ HTTP/1.1\r\nHost\r\n\r\n")]
#[case::other_host("GET http://a.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")]
#[case::other_port("GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n")]
#[case::two_hosts("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n")]
#[case::two_lengths("POST http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")]
#[case::length_and_chunks("POST http://a.test/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")]
#[case::tunnel_without_port("CONNECT a.test HTTP/1.1\r\n\r\n")]
#[case::tunnel_with_scheme("CONNECT http://a.test:443 HTTP/1.1\r\n\r\n")]
#[case::tunnel_with_path("CONNECT a.test:443/ HTTP/1.1\r\n\r\n")]
#[case::tunnel_with_user("CONNECT u@a.test:443 HTTP/1.1\r\n\r\n")]
#[case::tunnel_with_dot("CONNECT a.test.:443 HTTP/1.1\r\n\r\n")]
#[case::small_letters_are_another_method("connect a.test:443 HTTP/1.1\r\n\r\n")]
#[case::method_of_odd_bytes("G(T http://a.test/ HTTP/1.1\r\n\r\n")]
#[case::empty("\r\n\r\n")]
#[case::no_end("GET http://a.test/ HTTP/1.1\r\n")]
fn what_can_be_read_in_two_ways_is_refused(#[case] head: &str) {
    asked(head).unwrap_err();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, target in "[ -~]{0,40}") {
        let _either = parse(&bytes);
        let head = format!("GET http://{target} HTTP/1.1\r\n\r\n");
        if let Ok(Asked { kind: Kind::Forward(passed_on), .. }) = parse(head.as_bytes()) {
            // Exactly one request, whatever the address was.
            prop_assert_eq!(end_of_head(&passed_on), Some(passed_on.len()));
        }
    }
}
