use super::*;
use rstest::rstest;
use serde_json::{Value, json};

fn route(provider: &str, model: &str, endpoint: &str) -> Value {
    json!({ "provider": provider, "model": model, "effort": null, "generation_endpoint": endpoint })
}

fn read(route: Value) -> Result<Route, Error> {
    serde_json::from_value::<RouteText>(route).unwrap().check("")
}

/// The field a refusal names.
#[track_caller]
fn refused(route: Value) -> String {
    match read(route).unwrap_err() {
        Error::GrantField { field, .. } => field,
        error => panic!("{error}"),
    }
}

/// Each provider with a route that fits it.
#[rstest]
#[case(
    Provider::Codex,
    "gpt-6-luna",
    "https://chatgpt.com/backend-api/codex",
    Generation::Codex
)]
#[case(Provider::Claude, "claude-opus-5-5", "https://api.anthropic.com", Generation::Claude)]
#[case(Provider::Devin, "a/b", "local:devin-acp", Generation::Devin)]
#[case(Provider::Opencode, "provider/model", "local:opencode-acp", Generation::Opencode)]
#[case(Provider::Grok, "default", "local:grok-acp", Generation::Grok)]
#[case(Provider::Synthetic, "any", "in-process", Generation::Synthetic)]
fn a_provider_has_one_endpoint_and_no_other(
    #[case] provider: Provider,
    #[case] model: &str,
    #[case] endpoint: &str,
    #[case] generation: Generation,
) {
    let word = serde_json::to_value(provider).unwrap();
    assert_eq!(word, provider.as_str());
    let expected = Route {
        model: ModelName::new(model).unwrap(),
        effort: None,
        generation,
    };
    assert_eq!(read(route(provider.as_str(), model, endpoint)).unwrap(), expected);
    assert_eq!(expected.provider(), provider);
    for other in ["https://models.example", "", &format!("{endpoint}/")] {
        assert_eq!(
            refused(route(provider.as_str(), model, other)),
            "generation_endpoint",
            "{other}"
        );
    }
}

#[rstest]
#[case::codex("codex", "gpt-6-luna", "https://chatgpt.com/backend-api/codex", true)]
#[case::claude("claude", "claude-opus-5-5", "https://api.anthropic.com", true)]
#[case::openai("openai", "qwen3", "https://models.example/v1", true)]
#[case::devin("devin", "default", "local:devin-acp", false)]
#[case::opencode("opencode", "provider/model", "local:opencode-acp", false)]
#[case::grok("grok", "default", "local:grok-acp", false)]
fn only_a_client_of_ours_is_asked_for_an_effort(
    #[case] provider: &str,
    #[case] model: &str,
    #[case] endpoint: &str,
    #[case] taken: bool,
) {
    for (word, effort) in [
        ("low", Effort::Low),
        ("medium", Effort::Medium),
        ("high", Effort::High),
        ("xhigh", Effort::Xhigh),
    ] {
        let mut asked = route(provider, model, endpoint);
        asked["effort"] = json!(word);
        match taken {
            true => assert_eq!(read(asked).unwrap().effort, Some(effort)),
            false => assert_eq!(refused(asked), "effort"),
        }
    }
}

#[rstest]
#[case::codex("codex", "openai/gpt-6-luna", "https://chatgpt.com/backend-api/codex")]
#[case::claude("claude", "anthropic/claude", "https://api.anthropic.com")]
#[case::opencode("opencode", "model", "local:opencode-acp")]
#[case::opencode_without_model("opencode", "provider/", "local:opencode-acp")]
#[case::grok("grok", "xai/grok", "local:grok-acp")]
fn a_model_is_written_as_its_provider_writes_it(#[case] provider: &str, #[case] model: &str, #[case] endpoint: &str) {
    assert_eq!(refused(route(provider, model, endpoint)), "model");
}

#[rstest]
#[case::plain_http("http://models.example/v1")]
#[case::user("https://user@models.example")]
#[case::password("https://user:word@models.example")]
#[case::query("https://models.example/?key=1")]
#[case::fragment("https://models.example/#x")]
#[case::no_host("https://")]
#[case::file("file:///etc/passwd")]
#[case::relative("models.example/v1")]
fn an_endpoint_holds_nothing_but_an_address(#[case] endpoint: &str) {
    assert_eq!(refused(route("openai", "qwen3", endpoint)), "generation_endpoint");
}

#[rstest]
#[case::credential("codex", "credential_env", json!("KEY"))]
#[case::api("claude", "api", json!("responses"))]
#[case::script("openai", "script", json!("/srv/script.json"))]
#[case::digest("openai", "script_digest", json!("0".repeat(64)))]
fn what_belongs_to_one_provider_is_refused_elsewhere(#[case] provider: &str, #[case] name: &str, #[case] value: Value) {
    let endpoint = match provider {
        "codex" => "https://chatgpt.com/backend-api/codex",
        "claude" => "https://api.anthropic.com",
        _ => "https://models.example",
    };
    let mut written = route(provider, "model", endpoint);
    written[name] = value;
    assert_eq!(refused(written), name);
}

#[rstest]
#[case("KEY", true)]
#[case("_k2", true)]
#[case("2K", false)]
#[case("", false)]
#[case("sk-123", false)]
#[case("A=B", false)]
#[case(&"K".repeat(128), true)]
#[case(&"K".repeat(129), false)]
fn a_key_is_named_and_never_written(#[case] name: &str, #[case] taken: bool) {
    let mut written = route("openai", "qwen3", "http://127.0.0.1:11434/v1");
    written["credential_env"] = json!(name);
    match taken {
        true => assert_eq!(
            serde_json::to_value(read(written.clone()).unwrap().to_text()).unwrap(),
            written
        ),
        false => assert_eq!(refused(written), "credential_env"),
    }
}

#[test]
fn a_place_in_a_list_is_part_of_the_refused_fields_name() {
    let written: RouteText = serde_json::from_value(route("grok", "a/b", "local:grok-acp")).unwrap();
    match written.check("fallbacks[1].").unwrap_err() {
        Error::GrantField { field, .. } => assert_eq!(field, "fallbacks[1].model"),
        error => panic!("{error}"),
    }
}
