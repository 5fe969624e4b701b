use super::*;
use crate::configuration::{Generation, Route};
use rstest::rstest;
use std::collections::HashMap;
use std::ffi::OsString;

fn decisions(endpoint: &str, model: &str, variables: &[(&str, &str)]) -> Result<String, (String, String)> {
    let route = Route::new(ModelName::new("m").unwrap(), Generation::Codex);
    let configuration = Configuration {
        decision_endpoint: endpoint.to_owned(),
        decision_model: model.to_owned(),
        ..Configuration::new(route)
    };
    let variables: HashMap<&str, &str> = variables.iter().copied().collect();
    let environment = |name: &str| variables.get(name).map(OsString::from);
    match Decisions::of(&configuration, &environment) {
        Ok(Decisions::Unavailable(reason)) => Ok(reason.word().to_owned()),
        Ok(Decisions::Asked(jev)) => Ok(format!("{} {}", jev.url(), jev.model())),
        Err(error) => Err((error.code().to_owned(), error.message())),
    }
}

const KEY: (&str, &str) = ("TYPESAFE_API_KEY", "canary-key-1a2b3c");
const EXACT: (&str, &str) = ("TYPESAFE_DEFAULT_MODEL", "jev-1.13.0");

#[rstest]
#[case::no_key("https://api.typesafe.ai", "jev-1.13.0", &[], "no_key")]
#[case::an_empty_key("https://api.typesafe.ai", "jev-1.13.0", &[("TYPESAFE_API_KEY", "")], "no_key")]
#[case::not_granted("in-process", "none", &[KEY], "not_granted")]
#[case::usual("https://api.typesafe.ai", "jev-1.13.0", &[KEY, EXACT], "https://api.typesafe.ai/v1/systemone jev-1.13.0")]
#[case::elsewhere("http://127.0.0.1:9", "jev-1.13.0", &[KEY, EXACT, ("TYPESAFE_BASE_URL", "http://127.0.0.1:9/")], "http://127.0.0.1:9/v1/systemone jev-1.13.0")]
fn who_judges(#[case] endpoint: &str, #[case] model: &str, #[case] variables: &[(&str, &str)], #[case] judge: &str) {
    assert_eq!(decisions(endpoint, model, variables), Ok(judge.to_owned()));
}

/// Trap 10: an alias resolves to another name, and every run with it was refused after it had begun.
#[rstest]
#[case::endpoint("https://other.example", "jev-1.13.0", "decision_endpoint")]
#[case::model("https://api.typesafe.ai", "jev-1.12.0", "decision_model")]
fn trap_10_a_grant_for_another_client_is_refused_before_it_runs(
    #[case] endpoint: &str,
    #[case] model: &str,
    #[case] field: &str,
) {
    let (code, message) = decisions(endpoint, model, &[KEY, EXACT]).unwrap_err();
    assert_eq!(code, "grant_mismatch");
    assert!(message.contains(field) && !message.contains("canary"), "{message}");
}

#[test]
fn the_key_may_be_in_a_file() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join(".openagents");
    std::fs::create_dir(&directory).unwrap();
    let with_home = [("HOME", home.path().to_str().unwrap()), EXACT];
    let look = || decisions("https://api.typesafe.ai", "jev-1.13.0", &with_home).unwrap();
    for (text, judge) in [
        (
            r#"{"api_key": "canary-key-1a2b3c"}"#,
            "https://api.typesafe.ai/v1/systemone jev-1.13.0",
        ),
        (r#"{"api_key": ""}"#, "no_key"),
        ("{", "no_key"),
    ] {
        std::fs::write(directory.join("jev.json"), text).unwrap();
        assert_eq!(look(), judge);
    }
}
