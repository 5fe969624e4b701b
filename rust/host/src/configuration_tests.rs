use super::*;
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

fn read(value: Value) -> Result<Configuration, Error> {
    serde_json::from_value::<ConfigurationText>(value).unwrap().check()
}

#[test]
fn a_scripted_configuration_survives_writing() {
    let checked = read(scripted()).unwrap();
    assert_eq!(checked.to_text().check().unwrap(), checked);
    assert_eq!(checked.access, Access::Boundary);
    // Fields that are off are left out, so that a grant's bytes do not change when a later version adds one.
    let written = serde_json::to_value(checked.to_text()).unwrap();
    for absent in ["access", "api", "fallbacks", "container", "max_steps", "credential_env"] {
        assert_eq!(written.get(absent), None, "{absent}");
    }
}

#[rstest]
#[case::no_digest("script_digest", Value::Null)]
#[case::no_script("script", Value::Null)]
#[case::relative("script", json!("script.json"))]
#[case::endpoint("generation_endpoint", json!("https://x.example"))]
#[case::effort("effort", json!("low"))]
#[case::api("api", json!("responses"))]
#[case::credential("credential_env", json!("KEY"))]
fn a_scripted_configuration_is_closed(#[case] name: &str, #[case] value: Value) {
    let mut configuration = scripted();
    configuration[name] = value;
    assert_eq!(read(configuration).unwrap_err().code(), "grant_field");
}
