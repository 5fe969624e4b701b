//! One HTTP exchange: send, wait, read within bounds, and hand what comes to the protocol's reader. Three clocks bound it
//! (connecting, silence, the whole), a byte count bounds its memory, and the stop signal drops it at once.

use crate::attempts::{AttemptError, AttemptErrorKind};
use crate::config::Timeouts;
use crate::dialect::Reader;
use crate::received::{End, Received};
use crate::refusal::{Failing, status_error};
use crate::whole_lines::whole_lines;
use coder_digest::Clock;
use eventsource_stream::{EventStreamError, Eventsource as _};
use futures_util::stream::{self, Stream, StreamExt as _};
use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use std::cell::Cell;
use std::error::Error as _;
use std::time::Duration;

/// How long between two looks at the stop signal.
const POLL: Duration = Duration::from_millis(20);
/// How long the rest of a complete response is waited for, so that its connection can serve the next request.
const DRAIN: Duration = Duration::from_millis(200);

/// One request, ready to send.
pub(crate) struct Exchange<'a> {
    pub(crate) client: &'a reqwest::Client,
    pub(crate) url: &'a str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) reader: Box<dyn Reader>,
    pub(crate) admitted: &'a str,
    pub(crate) timeouts: Timeouts,
    pub(crate) response_bytes: u64,
    pub(crate) clock: &'a dyn Clock,
}

struct Fault {
    kind: AttemptErrorKind,
    message: String,
}

impl Fault {
    fn new(kind: AttemptErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }
}

impl Exchange<'_> {
    /// Carries the exchange out. Whatever came is in what is returned, also of an exchange that failed.
    pub(crate) async fn carry_out(mut self, cancelled: &dyn Fn() -> bool) -> Received {
        let mut received = Received::default();
        // Apart from the rest, which the request takes with it: a dropped request still leaves what it read.
        let mut reader = std::mem::replace(&mut self.reader, Box::new(Nothing));
        let bytes = Cell::new(0);
        let total = self.timeouts.total;
        let fault = tokio::select! {
            biased;
            () = until(cancelled) => Some(Fault::new(AttemptErrorKind::Cancelled, "the run was stopped")),
            () = tokio::time::sleep(total) => Some(Fault::new(
                AttemptErrorKind::TotalTimeout,
                format!("the response was not over in {} s", total.as_secs_f64()),
            )),
            done = self.send(reader.as_mut(), &mut received, &bytes) => done.err(),
        };
        received.body_bytes = bytes.get();
        reader.finish(&mut received);
        if let Some(fault) = fault {
            let error = AttemptError {
                kind: fault.kind,
                message: fault.message,
                capacity: None,
            };
            match fault.kind {
                // Stopping is the user's will whatever the response had told of before.
                AttemptErrorKind::Cancelled => received.error = Some(error),
                _ => received.fail(error),
            }
        }
        if received.end == End::Open {
            received.fail_with(AttemptErrorKind::Broken, "the response ended before its end mark");
        }
        received
    }

    async fn send(self, reader: &mut dyn Reader, received: &mut Received, bytes: &Cell<u64>) -> Result<(), Fault> {
        let idle = self.timeouts.idle;
        let request = self
            .client
            .post(self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .headers(self.headers);
        let response = match tokio::time::timeout(idle, request.body(self.body).send()).await {
            Err(_) => return Err(silence(idle)),
            Ok(Err(error)) => return Err(transport(error)),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        received.status = Some(status.as_u16());
        let headers = response.headers().clone();
        reader.headers(&headers, self.clock.now(), received);
        let failing = Failing {
            status: status.as_u16(),
            headers: &headers,
            now: self.clock.now(),
        };
        if status.is_redirection() {
            return Err(Fault::new(
                AttemptErrorKind::Redirect,
                format!(
                    "the server answered with HTTP status {}; redirects are not followed",
                    status.as_u16()
                ),
            ));
        }
        let mut chunks = Box::pin(chunks(response, idle, self.response_bytes, bytes));
        if !status.is_success() {
            let mut body = Vec::new();
            // What came before a break or the bound still says what the server meant.
            while let Some(Ok(chunk)) = chunks.next().await {
                body.extend_from_slice(chunk.as_ref());
            }
            received.fail(status_error(&body, &failing));
            return Ok(());
        }
        let streams = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.trim_start().to_ascii_lowercase().starts_with("text/event-stream"));
        if streams {
            return read_events(chunks, reader, self.admitted, &failing, received).await;
        }
        let mut body = Vec::new();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(chunk?.as_ref());
        }
        // A gateway that forgets the content type still streams.
        if body.starts_with(b"data:") || body.starts_with(b"event:") {
            let body = Box::pin(stream::iter([Ok(body)]));
            return read_events(body, reader, self.admitted, &failing, received).await;
        }
        match serde_json::from_slice(&body) {
            Ok(value) => reader.whole(&value, self.admitted, &failing, received),
            Err(error) => {
                let message = format!("the response is neither an event stream nor JSON: {error}");
                return Err(Fault::new(AttemptErrorKind::Malformed, message));
            }
        }
        Ok(())
    }
}

/// Stands where a reader was taken from.
struct Nothing;

impl Reader for Nothing {
    fn event(&mut self, _: &str, _: &str, _: &Failing<'_>, _: &mut Received) {}
    fn whole(&mut self, _: &serde_json::Value, _: &str, _: &Failing<'_>, _: &mut Received) {}
    fn finish(self: Box<Self>, _: &mut Received) {}
}

async fn read_events<B: AsRef<[u8]>>(
    chunks: impl Stream<Item = Result<B, Fault>> + Unpin,
    reader: &mut dyn Reader,
    admitted: &str,
    failing: &Failing<'_>,
    received: &mut Received,
) -> Result<(), Fault> {
    let mut events = whole_lines(chunks).eventsource();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => reader.event(&event.data, admitted, failing, received),
            Err(EventStreamError::Transport(fault)) => return Err(fault),
            Err(EventStreamError::Utf8(_)) => {
                return Err(Fault::new(AttemptErrorKind::Malformed, "the event stream is not UTF-8"));
            }
            Err(EventStreamError::Parser(_)) => {
                return Err(Fault::new(
                    AttemptErrorKind::Malformed,
                    "the event stream cannot be parsed",
                ));
            }
        }
        if received.error.is_some() {
            return Ok(());
        }
        if received.end == End::Complete {
            // The reply is whole; what follows can only be the connection's own end.
            let _ = tokio::time::timeout(DRAIN, async { while let Some(Ok(_)) = events.next().await {} }).await;
            return Ok(());
        }
    }
    Ok(())
}

/// The body in pieces, with silence and size bounded.
fn chunks(
    response: Response,
    idle: Duration,
    limit: u64,
    bytes: &Cell<u64>,
) -> impl Stream<Item = Result<impl AsRef<[u8]> + use<>, Fault>> + use<'_> {
    stream::unfold(Some(response), move |response| async move {
        let mut response = response?;
        match tokio::time::timeout(idle, response.chunk()).await {
            Err(_) => Some((Err(silence(idle)), None)),
            Ok(Err(error)) => Some((Err(transport(error)), None)),
            Ok(Ok(None)) => None,
            Ok(Ok(Some(chunk))) => {
                bytes.set(bytes.get().saturating_add(chunk.len() as u64));
                if bytes.get() > limit {
                    let message = format!("the response is larger than {limit} bytes");
                    return Some((Err(Fault::new(AttemptErrorKind::TooLarge, message)), None));
                }
                Some((Ok(chunk), Some(response)))
            }
        }
    })
}

async fn until(cancelled: &dyn Fn() -> bool) {
    while !cancelled() {
        tokio::time::sleep(POLL).await;
    }
}

fn silence(idle: Duration) -> Fault {
    Fault::new(
        AttemptErrorKind::IdleTimeout,
        format!("nothing came from the server for {} s", idle.as_secs_f64()),
    )
}

fn transport(error: reqwest::Error) -> Fault {
    let (kind, act) = match error.is_connect() {
        true => (AttemptErrorKind::Connect, "cannot connect"),
        false => (AttemptErrorKind::Broken, "the connection broke"),
    };
    // Without the address, which the record has anyway, and with the innermost cause, which says what happened.
    let error = error.without_url();
    let mut cause = error.source();
    let mut words = error.to_string();
    while let Some(inner) = cause {
        words = inner.to_string();
        cause = inner.source();
    }
    Fault::new(kind, format!("{act}: {words}"))
}
