use super::*;
use rstest::rstest;
use serde_json::json;

#[test]
fn an_event_is_closed_data() {
    assert_eq!(
        serde_json::to_value(Event::Spawned { process_id: 7 }).unwrap(),
        json!({"type": "spawned", "process_id": 7})
    );
    assert_eq!(
        serde_json::to_value(Event::OwnerLost {}).unwrap(),
        json!({"type": "owner_lost"})
    );
    for wrong in [
        json!({"type": "owner_lost", "extra": 1}),
        json!({"type": "spawned", "process_id": 7, "extra": 1}),
        json!({"type": "later"}),
        json!({"type": "spawned"}),
    ] {
        assert!(serde_json::from_value::<Event>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn a_result_as_written() {
    let digest = |text: &[u8]| coder_digest::Digest::of(text);
    assert_eq!(
        serde_json::to_value(crate::fixtures::result()).unwrap(),
        json!({
            "ending": "completed",
            "exit_code": 0,
            "stop_requested": false,
            "group_clear": true,
            "elapsed_ms": 1200,
            "trace_digest": digest(b"trace").to_string(),
            "candidate_snapshot": digest(b"candidate").hex(),
            "artifact_file": null,
            "artifact_digest": null,
            "output_incomplete": false,
            "cost_status": "unknown",
        })
    );
}

#[rstest]
#[case(CostStatus::Unknown, None, None, None, true)]
#[case(CostStatus::Unknown, Some(0), None, None, false)]
#[case(CostStatus::Unknown, None, None, Some(1), false)]
#[case(CostStatus::Partial, None, None, None, false)]
#[case(CostStatus::Partial, None, Some(1), None, true)]
#[case(CostStatus::Partial, Some(5), None, None, true)]
#[case(CostStatus::Priced, None, Some(1), Some(2), false)]
#[case(CostStatus::Priced, Some(3), Some(1), Some(2), true)]
#[case(CostStatus::Priced, Some(4), Some(1), Some(2), false)]
#[case(CostStatus::Priced, Some(4), None, None, true)]
#[case(CostStatus::Priced, Some(u64::MAX), Some(u64::MAX), Some(1), false)]
fn cost_fields_agree_or_are_refused(
    #[case] cost_status: CostStatus,
    #[case] cost_microusd: Option<u64>,
    #[case] engine_microusd: Option<u64>,
    #[case] jev_microusd: Option<u64>,
    #[case] consistent: bool,
) {
    let result = RunResult {
        cost_status,
        cost_microusd,
        engine_microusd,
        jev_microusd,
        ..crate::fixtures::result()
    };
    assert_eq!(result.cost_is_consistent(), consistent);
}
