use super::*;
use crate::container_profile::tests::template as container;
use rstest::rstest;
use serde_json::{Value, json};

fn scripted() -> Value {
    json!({
        "schema": SCHEMA,
        "provider": "scripted",
        "model": "scripted",
        "effort": null,
        "generation_endpoint": "in-process",
        "decision_endpoint": "in-process",
        "decision_model": "none",
        "acceptance": false,
        "route": "never",
        "knowledge": "off",
        "dollar_limit_micros": null,
        "expected_controller_digest": null,
        "script": "/srv/script.json",
        "script_digest": Digest::of(b"script")
    })
}

/// The configuration of the specification's template, with one fallback.
fn codex() -> Value {
    json!({
        "schema": SCHEMA,
        "provider": "codex",
        "model": "gpt-6-luna",
        "effort": "medium",
        "generation_endpoint": "https://chatgpt.com/backend-api/codex",
        "decision_endpoint": "https://decisions.example",
        "decision_model": "jev-1.13.0",
        "acceptance": false,
        "route": "never",
        "knowledge": "off",
        "dollar_limit_micros": null,
        "expected_controller_digest": null,
        "fallbacks": [claude("claude-opus-5-5")]
    })
}

fn claude(model: &str) -> Value {
    json!({
        "provider": "claude",
        "model": model,
        "effort": "medium",
        "generation_endpoint": "https://api.anthropic.com"
    })
}

fn synthetic(model: &str) -> Value {
    json!({ "provider": "synthetic", "model": model, "effort": null, "generation_endpoint": "in-process" })
}

fn read(value: Value) -> Result<Configuration, Error> {
    serde_json::from_value::<ConfigurationText>(value).unwrap().check()
}

#[track_caller]
fn refused(value: Value) -> String {
    match read(value).unwrap_err() {
        Error::GrantField { field, .. } => field,
        error => panic!("{error}"),
    }
}

#[rstest]
#[case::scripted(scripted())]
#[case::codex(codex())]
fn a_configuration_survives_writing_without_what_is_off(#[case] written: Value) {
    let checked = read(written.clone()).unwrap();
    // Fields that are off are left out, so that a grant's bytes do not change when a later version adds one.
    assert_eq!(serde_json::to_value(checked.to_text().unwrap()).unwrap(), written);
    assert_eq!(checked.to_text().unwrap().check().unwrap(), checked);
}

#[test]
fn everything_that_can_be_on_survives_writing_too() {
    let mut written = codex();
    written["container"] = container();
    written["knowledge"] = json!("frozen-context");
    written["expected_controller_digest"] = json!(Digest::of(b"controller"));
    let checked = read(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(checked.to_text().unwrap()).unwrap(), written);
    let mut written = scripted();
    written["access"] = json!("toolchains");
    written["network"] = json!({ "allow": ["registry.example:443", "*.b.example:8080+private"] });
    let checked = read(written.clone()).unwrap();
    assert_eq!(checked.access, Access::Toolchains);
    assert_eq!(
        checked.network().to_string(),
        "allow:registry.example:443,*.b.example:8080+private"
    );
    assert_eq!(serde_json::to_value(checked.to_text().unwrap()).unwrap(), written);
}

#[rstest]
#[case::access("access", json!("boundary"))]
#[case::container("container", Value::Null)]
#[case::fallbacks("fallbacks", json!([]))]
#[case::steps("max_steps", json!(16))]
#[case::api("api", json!("chat_completions"))]
fn what_is_off_means_the_same_as_what_is_left_out(#[case] name: &str, #[case] value: Value) {
    let mut written = scripted();
    written[name] = value;
    assert_eq!(read(written).unwrap(), read(scripted()).unwrap());
}

#[rstest]
#[case::no_digest("script_digest", Value::Null, "script")]
#[case::no_script("script", Value::Null, "script")]
#[case::relative("script", json!("script.json"), "script")]
#[case::endpoint("generation_endpoint", json!("https://x.example"), "generation_endpoint")]
#[case::effort("effort", json!("low"), "effort")]
#[case::api("api", json!("responses"), "api")]
#[case::credential("credential_env", json!("KEY"), "credential_env")]
#[case::acceptance("acceptance", json!(true), "acceptance")]
#[case::route("route", json!("always"), "route")]
#[case::dollars("dollar_limit_micros", json!(0), "dollar_limit_micros")]
#[case::decision_model("decision_model", json!(""), "decision_model")]
#[case::long_decision_model("decision_model", json!("m".repeat(129)), "decision_model")]
#[case::decision_endpoint("decision_endpoint", json!("http://d.example"), "decision_endpoint")]
#[case::decision_query("decision_endpoint", json!("https://d.example/?k=1"), "decision_endpoint")]
#[case::decision_user("decision_endpoint", json!("https://u@d.example"), "decision_endpoint")]
#[case::network_entry("network", json!({ "allow": ["a.example"] }), "network")]
#[case::network_without_entries("network", json!({ "allow": [] }), "network")]
#[case::mixed_synthetic("fallbacks", json!([synthetic("x")]), "fallbacks[0].provider")]
fn a_scripted_configuration_is_closed(#[case] name: &str, #[case] value: Value, #[case] field: &str) {
    let mut configuration = scripted();
    configuration[name] = value;
    assert_eq!(refused(configuration), field);
}

#[rstest]
#[case::none(json!("none"))]
#[case::listed(json!({ "allow": ["a.example:443"] }))]
fn full_access_and_a_container_name_no_network(#[case] network: Value) {
    let mut written = scripted();
    written["network"] = network.clone();
    written["access"] = json!("full");
    assert_eq!(refused(written), "network");
    let mut written = codex();
    written["fallbacks"] = json!([]);
    written["network"] = network;
    written["container"] = container();
    assert_eq!(refused(written), "network");
}

#[test]
fn at_most_four_fallbacks_and_none_twice() {
    let with = |routes: Vec<Value>| {
        let mut written = codex();
        written["fallbacks"] = json!(routes);
        written
    };
    let routes: Vec<Value> = (0..5).map(|number| claude(&format!("claude-{number}"))).collect();
    let four = read(with(routes[..4].to_vec())).unwrap();
    let models: Vec<&str> = four.routes().map(|route| route.model.as_str()).collect();
    assert_eq!(models, ["gpt-6-luna", "claude-0", "claude-1", "claude-2", "claude-3"]);
    assert_eq!(refused(with(routes.clone())), "fallbacks");
    assert_eq!(refused(with(vec![routes[0].clone(), routes[0].clone()])), "fallbacks");
    // The first choice counts, and the effort does not make another route of it.
    let mut again = claude("gpt-6-luna");
    again["provider"] = json!("codex");
    again["generation_endpoint"] = json!("https://chatgpt.com/backend-api/codex");
    again["effort"] = Value::Null;
    assert_eq!(refused(with(vec![again])), "fallbacks");
    // The same name at another provider is another route.
    assert!(read(with(vec![claude("gpt-6-luna")])).is_ok());
}

#[test]
fn a_fallback_is_held_to_its_own_providers_rules() {
    let mut written = codex();
    written["fallbacks"][0]["generation_endpoint"] = json!("https://elsewhere.example");
    assert_eq!(refused(written), "fallbacks[0].generation_endpoint");
    let mut written = codex();
    written["fallbacks"][0]["weight"] = json!(1);
    assert!(serde_json::from_value::<ConfigurationText>(written).is_err());
}

#[rstest]
#[case::devin("devin", "default", "local:devin-acp")]
#[case::opencode("opencode", "provider/model", "local:opencode-acp")]
#[case::grok("grok", "default", "local:grok-acp")]
fn a_container_holds_no_agent_that_takes_whole_turns(
    #[case] provider: &str,
    #[case] model: &str,
    #[case] endpoint: &str,
) {
    let route = json!({ "provider": provider, "model": model, "effort": null, "generation_endpoint": endpoint });
    let mut fallback = codex();
    fallback["fallbacks"] = json!([route]);
    assert!(read(fallback.clone()).is_ok());
    fallback["container"] = container();
    assert_eq!(refused(fallback), "fallbacks[0].provider");
    let mut first = codex();
    first.as_object_mut().unwrap().remove("fallbacks");
    for (name, value) in route.as_object().unwrap() {
        first[name] = value.clone();
    }
    assert!(read(first.clone()).is_ok());
    first["container"] = container();
    assert_eq!(refused(first), "provider");
}

#[rstest]
#[case("toolchains")]
#[case("full")]
fn a_container_sees_nothing_of_this_computer(#[case] access: &str) {
    let mut written = codex();
    written["access"] = json!(access);
    assert!(read(written.clone()).is_ok());
    written["container"] = container();
    assert_eq!(refused(written), "access");
}

#[test]
fn a_synthetic_run_is_synthetic_throughout() {
    let mut written = codex();
    for (name, value) in synthetic("first").as_object().unwrap() {
        written[name] = value.clone();
    }
    written["fallbacks"] = json!([synthetic("second")]);
    assert_eq!(refused(written.clone()), "decision_endpoint");
    written["decision_endpoint"] = json!("in-process");
    assert_eq!(read(written.clone()).unwrap().routes().count(), 2);
    written["fallbacks"] = json!([claude("claude-opus-5-5")]);
    assert_eq!(refused(written), "fallbacks[0].provider");
}
