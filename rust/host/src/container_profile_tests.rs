use super::*;
use rstest::rstest;
use serde_json::{Value, json};

pub(crate) fn template() -> Value {
    json!({
        "schema": "openagents.microcoder.container.v1",
        "docker_program": "/usr/bin/docker",
        "docker_digest": Digest::of(b"docker"),
        "socket": "/run/docker.sock",
        "image": Digest::of(b"image"),
        "uid": 501,
        "gid": 20
    })
}

#[test]
fn a_profile_survives_reading_and_writing() {
    let written: ContainerText = serde_json::from_value(template()).unwrap();
    let profile = written.check().unwrap();
    let expected = ContainerProfile {
        docker_program: "/usr/bin/docker".into(),
        docker_digest: Digest::of(b"docker"),
        socket: "/run/docker.sock".into(),
        image: Digest::of(b"image"),
        uid: 501,
        gid: 20,
    };
    assert_eq!(profile, expected);
    assert_eq!(serde_json::to_value(profile.to_text().unwrap()).unwrap(), template());
}

#[rstest]
#[case("schema", json!("openagents.microcoder.container.v2"), "unsupported_schema")]
#[case("docker_program", json!("docker"), "grant_field")]
#[case("docker_program", json!("/usr/bin/../bin/docker"), "grant_field")]
#[case("socket", json!("run/docker.sock"), "grant_field")]
#[case("socket", json!("/run//docker.sock"), "grant_field")]
#[case("uid", json!(0), "grant_field")]
#[case("uid", json!(2_147_483_648_u32), "grant_field")]
#[case("gid", json!(2_147_483_648_u32), "grant_field")]
fn a_profile_outside_its_bounds_refuses(#[case] name: &str, #[case] value: Value, #[case] code: &str) {
    let mut profile = template();
    profile[name] = value;
    let written: ContainerText = serde_json::from_value(profile).unwrap();
    assert_eq!(written.check().unwrap_err().code(), code);
}

#[rstest]
#[case("uid", json!(-1))]
#[case("gid", json!("20"))]
#[case("image", json!("debian:12"))]
#[case("docker_digest", json!(null))]
#[case("privileged", json!(true))]
fn another_shape_is_no_profile(#[case] name: &str, #[case] value: Value) {
    let mut profile = template();
    profile[name] = value;
    assert!(serde_json::from_value::<ContainerText>(profile).is_err());
}
