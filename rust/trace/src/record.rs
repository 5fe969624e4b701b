//! One line of the log: the record it holds and the digest of the line before. Closed shapes, strict JSON: a line either
//! means exactly one thing or is a named fault. Order between lines is the scanner's business.

use crate::step::{RecordedStep, Session, Step, is_writable};
use crate::{Error, FaultKind, limits};
use coder_digest::{Digest, Timestamp, json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The label this crate writes.
pub const SCHEMA_VERSION: &str = "ATIF-v1.8";
/// The labels this crate reads.
pub const READABLE_VERSIONS: [&str; 2] = ["ATIF-v1.7", SCHEMA_VERSION];

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Record {
    Session { at: Timestamp, session: Session },
    Step(Box<RecordedStep>),
    End { at: Timestamp },
}

/// What a line says of the line before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Previous {
    /// No such field, as in logs written before the chain.
    Absent,
    /// `null`: this is the first line.
    First,
    /// The digest of the line before, its newline included.
    Line(Digest),
    /// Something else.
    Bad,
}

#[derive(Serialize)]
struct SessionLine<'a> {
    record: &'static str,
    schema_version: &'static str,
    at: Timestamp,
    session: &'a Session,
    previous: Option<Digest>,
}

#[derive(Serialize)]
struct StampedStep<'a> {
    at: Timestamp,
    #[serde(flatten)]
    step: &'a Step,
}

#[derive(Serialize)]
struct EndLine {
    record: &'static str,
    at: Timestamp,
    state: &'static str,
    previous: Digest,
}

/// The bytes of the first line.
pub(crate) fn session_line(at: Timestamp, session: &Session) -> Result<Vec<u8>, Error> {
    line(&SessionLine {
        record: "session",
        schema_version: SCHEMA_VERSION,
        at,
        session,
        previous: None,
    })
}

/// The bytes of a step's line; the step itself and [`limits::ENVELOPE`] take at most `limit`.
pub(crate) fn step_line(at: Timestamp, step: &Step, previous: Digest, limit: u64) -> Result<Vec<u8>, Error> {
    step.check()?;
    let body = serialised(&StampedStep { at, step })?;
    let size = body.len() as u64 + limits::ENVELOPE;
    if size > limit {
        return Err(Error::StepTooLarge { bytes: size, limit });
    }
    let mut bytes = Vec::with_capacity(body.len() + 128);
    bytes.extend_from_slice(br#"{"record":"step","step":"#);
    bytes.extend_from_slice(&body);
    bytes.extend_from_slice(format!(r#","previous":"{previous}"}}"#).as_bytes());
    finished(bytes)
}

/// The bytes of the last line.
pub(crate) fn end_line(at: Timestamp, previous: Digest) -> Result<Vec<u8>, Error> {
    line(&EndLine {
        record: "end",
        at,
        state: "ended",
        previous,
    })
}

fn line(record: &impl Serialize) -> Result<Vec<u8>, Error> {
    finished(serialised(record)?)
}

fn serialised(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(value).map_err(|error| Error::BadStep {
        reason: format!("no JSON form: {error}"),
    })
}

/// Reads the line back before it is written: what the reader would call a fault must never reach the disk.
fn finished(mut bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
    if let (Err(kind), _) = decode(&bytes) {
        let reason = match json::parse(&bytes, READ_LIMIT) {
            Err(error) => error.to_string(),
            Ok(_) => format!("it would be read as `{}`", kind.word()),
        };
        return Err(Error::BadStep { reason });
    }
    bytes.push(b'\n');
    Ok(bytes)
}

const READ_LIMIT: json::Limit = json::Limit(limits::FILE as usize);

/// Reads one line without its newline.
pub(crate) fn decode(line: &[u8]) -> (Result<Record, FaultKind>, Previous) {
    let mut fields = match json::parse(line, READ_LIMIT) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) => return (Err(FaultKind::UnknownRecord), Previous::Bad),
        Err(json::Error::NotUtf8 { .. }) => return (Err(FaultKind::NotUtf8), Previous::Bad),
        Err(_) => return (Err(FaultKind::NotJson), Previous::Bad),
    };
    let previous = match fields.remove("previous") {
        None => Previous::Absent,
        Some(Value::Null) => Previous::First,
        Some(Value::String(text)) => text.parse().map_or(Previous::Bad, Previous::Line),
        Some(_) => Previous::Bad,
    };
    let record = match fields.remove("record") {
        Some(Value::String(word)) if word == "session" => session(fields),
        Some(Value::String(word)) if word == "step" => step(fields),
        Some(Value::String(word)) if word == "end" => end(fields),
        _ => Err(FaultKind::UnknownRecord),
    };
    (record, previous)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SessionFields {
    schema_version: String,
    at: Timestamp,
    session: Value,
}

fn session(fields: Map<String, Value>) -> Result<Record, FaultKind> {
    let fields: SessionFields = serde_json::from_value(Value::Object(fields)).map_err(|_| FaultKind::BadSession)?;
    if !READABLE_VERSIONS.contains(&fields.schema_version.as_str()) {
        return Err(FaultKind::UnsupportedVersion);
    }
    match serde_json::from_value(fields.session) {
        Ok(session) if is_writable(fields.at) => Ok(Record::Session { at: fields.at, session }),
        _ => Err(FaultKind::BadSession),
    }
}

fn step(mut fields: Map<String, Value>) -> Result<Record, FaultKind> {
    let Some(Value::Object(mut body)) = fields.remove("step") else {
        return Err(FaultKind::BadStep);
    };
    let at = body.remove("at").and_then(|at| at.as_i64()).map(Timestamp);
    let step: Result<Step, _> = serde_json::from_value(Value::Object(body));
    match (at, step) {
        (Some(at), Ok(step)) if fields.is_empty() && is_writable(at) && step.check().is_ok() => {
            Ok(Record::Step(Box::new(RecordedStep { at, step })))
        }
        _ => Err(FaultKind::BadStep),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndFields {
    at: Timestamp,
    state: String,
}

fn end(fields: Map<String, Value>) -> Result<Record, FaultKind> {
    match serde_json::from_value::<EndFields>(Value::Object(fields)) {
        Ok(end) if end.state == "ended" && is_writable(end.at) => Ok(Record::End { at: end.at }),
        // The format has no word for an end of another shape; it is a record nobody knows.
        _ => Err(FaultKind::UnknownRecord),
    }
}
