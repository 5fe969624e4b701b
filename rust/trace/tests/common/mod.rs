//! A session and a clock for the whole-crate tests.

use coder_digest::{FixedClock, TaskId, Timestamp};
use coder_trace::{Session, SessionId};
use std::sync::Arc;

pub fn session() -> Session {
    Session {
        id: SessionId::new(&TaskId::new("fix").unwrap(), 1),
        model: Some("model-a".into()),
        door: "repository".into(),
        repository: None,
        version: "0.1.0".into(),
    }
}

pub fn clock() -> Arc<FixedClock> {
    Arc::new(FixedClock::new(Timestamp(1_796_040_000_000), 1000))
}
