use super::*;
use coder_digest::SystemClock;
use rstest::rstest;
use serde_json::json;

fn submit() -> Vec<u8> {
    json!({
        "schema": "openagents.coder.task-command.v1",
        "command_id": "c-1",
        "task_id": "t-1",
        "expected_revision": null,
        "action": { "type": "submit", "intent": {
            "title": "T",
            "prompt": "P",
            "workspace": { "path": "/trees/t", "source_revision": null },
            "configuration": { "adapter": "microcoder-repository", "model": "m" },
        } },
    })
    .to_string()
    .into_bytes()
}

#[rstest]
#[case::cancel(CommandKind::Cancel)]
#[case::correct(CommandKind::Correct)]
#[case::continued(CommandKind::Continue)]
fn another_action_is_refused_before_a_store_is_looked_for(#[case] kind: CommandKind) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store");
    let refused = send_exact(kind, &submit(), &path, Arc::new(SystemClock)).unwrap_err();
    assert_eq!(
        (refused.code(), refused.message()),
        (
            "action_mismatch",
            format!("the file holds a `submit` command, not `{}`", kind.name())
        )
    );
    assert!(!path.exists());
}

#[test]
fn an_ask_without_a_name_gets_one() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("store");
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let task = TaskId::new("t-1").unwrap();
    let correct = Ask::Correct {
        prompt: "Q".into(),
        reason: "r".into(),
    };
    let asked = ask(&task, &correct, None, [0xab; 16], &path, Arc::clone(&clock));
    assert_eq!(asked.unwrap_err().code(), "no_store");
    send_exact(CommandKind::Submit, &submit(), &path, Arc::clone(&clock)).unwrap();
    let receipt = ask(&task, &correct, None, [0xab; 16], &path, Arc::clone(&clock)).unwrap();
    assert_eq!(
        (receipt.command_id.as_str(), receipt.revision),
        ("correct-abababababababababababababababab", 2)
    );
}
