//! Tests of `limits`.

use super::*;
use rstest::rstest;

#[rstest]
#[case::nothing("{}", None)]
#[case::all(
    r#"{"pids":4,"open_files":16,"file_bytes":4096,"cpu_seconds":1,"scratch_bytes":1048576}"#,
    None
)]
#[case::no_process(r#"{"pids":3}"#, Some("limits.pids"))]
#[case::no_file(r#"{"open_files":15}"#, Some("limits.open_files"))]
#[case::no_byte(r#"{"file_bytes":4095}"#, Some("limits.file_bytes"))]
#[case::no_time(r#"{"cpu_seconds":0}"#, Some("limits.cpu_seconds"))]
#[case::too_long(r#"{"cpu_seconds":604801}"#, Some("limits.cpu_seconds"))]
#[case::no_place(r#"{"scratch_bytes":1048575}"#, Some("limits.scratch_bytes"))]
fn each_field_has_bounds(#[case] text: &str, #[case] refused: Option<&str>) {
    let limits: Limits = serde_json::from_str(text).unwrap();
    let field = match limits.check() {
        Err(Error::GrantField { field, .. }) => Some(field),
        Ok(()) => None,
        Err(other) => panic!("{other}"),
    };
    assert_eq!(field.as_deref(), refused);
}

#[test]
fn what_is_left_out_is_as_always_with_memory_and_nothing_without() {
    let limits = Limits {
        pids: Some(7),
        ..Limits::default()
    };
    let expected = Resources {
        memory_bytes: Some(1 << 30),
        processes: Some(7),
        open_files: Some(4096),
        ..Resources::default()
    };
    assert_eq!(limits.with_memory(1 << 30), expected);
    let expected = Resources {
        processes: Some(7),
        ..Resources::default()
    };
    assert_eq!(limits.alone(), expected);
}
