use super::*;
use rstest::rstest;
use serde_json::json;

const NOW: Timestamp = Timestamp(1_796_040_000_000);

fn token(claims: &Value) -> String {
    format!(
        "head.{}.signature-canary-7f3a",
        URL_SAFE_NO_PAD.encode(claims.to_string())
    )
}

fn with_end(seconds: i64) -> String {
    token(&json!({ "exp": NOW.0 / 1000 + seconds }))
}

fn chatgpt(token: &str) -> Value {
    json!({"auth_mode": "ChatGPT", "OPENAI_API_KEY": null, "tokens": {"access_token": token, "account_id": "acct-1"}})
}

fn read_text(text: &str) -> Result<(Secret, String), String> {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("auth.json");
    std::fs::write(&path, text).unwrap();
    let login = read(&path, NOW).map(|login| (login.token, login.account));
    // Whatever came of it, the file is as it was and alone.
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    login.map_err(|reason| reason.replace(&path.display().to_string(), "PATH"))
}

#[test]
fn a_chatgpt_login_is_read() {
    let token = with_end(601);
    let login = read_text(&chatgpt(&token).to_string()).unwrap();
    assert_eq!(login, (Secret::new(&token), "acct-1".to_owned()));
    let mut without_mode = chatgpt(&token);
    without_mode.as_object_mut().unwrap().remove("auth_mode");
    assert!(read_text(&without_mode.to_string()).is_ok());
}

#[rstest]
#[case::ends_too_soon(chatgpt(&with_end(600)), "the Codex login at PATH is over or ends within ten minutes: run any `codex` command to renew it")]
#[case::is_over(chatgpt(&with_end(-5)), "the Codex login at PATH is over or ends within ten minutes: run any `codex` command to renew it")]
#[case::has_no_end(chatgpt(&token(&json!({}))), "the Codex login at PATH is not what Codex writes: run `codex login`")]
#[case::is_no_token(
    chatgpt("opaque"),
    "the Codex login at PATH is not what Codex writes: run `codex login`"
)]
#[case::a_key(json!({"OPENAI_API_KEY": "sk-canary-5f2a"}), "the Codex login at PATH is an API key, which this provider does not take: use the provider `openai` with it")]
#[case::another_mode(json!({"auth_mode": "apikey", "tokens": {}}), "the Codex login at PATH is not a ChatGPT login: run `codex login` and choose ChatGPT, or use the provider `openai` with a key")]
#[case::nothing_in_it(json!({}), "the Codex login at PATH is not what Codex writes: run `codex login`")]
#[case::an_empty_account(json!({"tokens": {"access_token": with_end(5_000), "account_id": ""}}), "the Codex login at PATH is not what Codex writes: run `codex login`")]
fn a_login_that_cannot_be_used_says_what_to_do_and_nothing_of_itself(#[case] login: Value, #[case] words: &str) {
    let refused = read_text(&login.to_string()).unwrap_err();
    assert_eq!(refused, words);
    assert!(!refused.contains("canary"));
}

#[test]
fn a_missing_cut_or_strange_file_is_no_login() {
    assert_eq!(
        read_text("{\"tokens\"").unwrap_err(),
        "the Codex login at PATH is not what Codex writes: run `codex login`"
    );
    let place = tempfile::tempdir().unwrap();
    let missing = read(&place.path().join("auth.json"), NOW).unwrap_err();
    assert!(
        missing.starts_with("there is no Codex login at ") && missing.ends_with(": run `codex login`"),
        "{missing}"
    );
    let directory = read(place.path(), NOW).unwrap_err();
    assert!(directory.ends_with("it is not a regular file"), "{directory}");
}

#[rstest]
#[case::its_own(&[("CODEX_HOME", "/c"), ("HOME", "/h")], Some("/c/auth.json"))]
#[case::the_home(&[("CODEX_HOME", ""), ("HOME", "/h")], Some("/h/.codex/auth.json"))]
#[case::nowhere(&[], None)]
fn where_the_login_is(#[case] variables: &[(&str, &str)], #[case] path: Option<&str>) {
    let environment = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| std::ffi::OsString::from(value))
    };
    assert_eq!(codex_login_path(&environment), path.map(PathBuf::from));
}

#[test]
fn a_fingerprint_tells_logins_apart_and_nothing_of_them() {
    let key = Secret::new("sk-canary-5f2a");
    let prints = [
        login_fingerprint("openai", "https://a", Some(&key)),
        login_fingerprint("openai", "https://b", Some(&key)),
        login_fingerprint("openai", "https://a", None),
        login_fingerprint("codex", "https://a", Some(&key)),
    ];
    assert_eq!(prints.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    assert!(
        prints
            .iter()
            .all(|print| print.len() == 16 && print.bytes().all(|byte| byte.is_ascii_hexdigit()))
    );
}
