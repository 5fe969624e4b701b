use super::*;
use rstest::rstest;

#[rstest]
#[case::hosted("https://api.example.com/v1", "https://api.example.com/v1/chat/completions")]
#[case::slash("https://api.example.com/v1/", "https://api.example.com/v1/chat/completions")]
#[case::no_path("https://api.example.com", "https://api.example.com/chat/completions")]
#[case::local("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1/chat/completions")]
#[case::all_of_127("http://127.8.9.1/v1", "http://127.8.9.1/v1/chat/completions")]
#[case::six("http://[::1]:8080", "http://[::1]:8080/chat/completions")]
#[case::name("http://localhost:1234/v1", "http://localhost:1234/v1/chat/completions")]
fn allowed(#[case] text: &str, #[case] below: &str) {
    assert_eq!(Endpoint::parse(text).unwrap().below("chat/completions"), below);
}

const PLAIN: &str = "plain http goes to this computer only (127.0.0.1, [::1], localhost); use https";
const USER: &str = "it holds user information; give the key by an environment variable";
const QUERY: &str = "it holds a query or a fragment";
const SCHEME: &str = "it is neither https nor http";
const SPACE: &str = "it holds white space, a control character or a backslash";

#[rstest]
#[case::plain("http://api.example.com/v1", PLAIN)]
#[case::private_net("http://192.168.1.2", PLAIN)]
#[case::mapped("http://[::ffff:127.0.0.1]/", PLAIN)]
#[case::any_address("http://0.0.0.0:1", PLAIN)]
#[case::name_that_only_begins_so("http://localhost.example.com", PLAIN)]
#[case::name_below("http://a.localhost", PLAIN)]
#[case::user("https://me@api.example.com", USER)]
#[case::password("https://me:canary@api.example.com", USER)]
#[case::empty_user("https://@api.example.com", USER)]
#[case::query("https://api.example.com/v1?key=canary", QUERY)]
#[case::empty_query("https://api.example.com/v1?", QUERY)]
#[case::fragment("https://api.example.com/v1#x", QUERY)]
#[case::file("file:///etc/passwd", "it names no host")]
#[case::socket("ws://127.0.0.1/", SCHEME)]
#[case::relative("/v1", "it is no absolute URL")]
#[case::empty("", "it is no absolute URL")]
#[case::space("https://api.example.com/ v1", SPACE)]
#[case::line_end("https://api.example.com\n", SPACE)]
#[case::backslash("https:\\\\api.example.com", SPACE)]
fn refused(#[case] text: &str, #[case] reason: &str) {
    let error = Endpoint::parse(text).unwrap_err();
    assert_eq!(error.to_string(), format!("the endpoint is refused: {reason}"));
    assert!(!format!("{error:?}").contains("canary"));
}
