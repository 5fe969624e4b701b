//! Calls of a model: the call, its requests, what the loop made of the answer, and what it used. A count that nobody
//! reported stays unknown and makes every sum with it a part.

use super::super::{Answer, Asked, Event, Request};
use super::words::{as_text, text};
use super::{Fold, Place};
use coder_trace::{Step, Tokens};
use serde_json::Value;

impl Fold {
    pub(super) fn begin_call(&mut self, place: Place, arguments: &Value) -> usize {
        let asked = Asked {
            number: arguments.get("step").and_then(Value::as_u64),
            model: text(arguments, "/model").map(str::to_owned),
            ..Asked::default()
        };
        let index = self.push(place, Event::Asked(Box::new(asked)));
        self.call = Some(index);
        index
    }

    pub(super) fn begin_request(&mut self, place: Place, kind: String, arguments: &Value) -> usize {
        // A request outside a call, as where a page begins within one, is a call of its own.
        let index = match self.call {
            Some(index) => index,
            None => self.begin_call(place, arguments),
        };
        if let Some(Event::Asked(asked)) = self.event_at(index) {
            asked.requests.push(Request {
                kind,
                endpoint: text(arguments, "/endpoint").map(str::to_owned),
                bytes: arguments.get("body_bytes").and_then(Value::as_u64),
                answer: None,
            });
        }
        index
    }

    /// Adds what a call used to the sums, once it is known.
    pub(super) fn count_call(&mut self, index: usize) {
        let Some(Event::Asked(asked)) = self.event_at(index) else {
            return;
        };
        let (tokens, requests, uncounted) = (asked.tokens, asked.requests.len() as u64, asked.uncounted);
        let totals = &mut self.timeline.totals;
        totals.calls += 1;
        totals.requests += requests;
        totals.uncounted += uncounted;
        totals.tokens = plus(totals.tokens, tokens);
    }

    pub(super) fn generated(&mut self, place: Place, event: &Value) {
        // The call it tells of is the last one, unless the page begins after that.
        let mut entries = self.timeline.entries.iter();
        let last = entries.rposition(|entry| matches!(&entry.event, Event::Asked(asked) if asked.action.is_none()));
        let index = match last {
            Some(index) => index,
            None => self.push(place, Event::Asked(Box::default())),
        };
        let Some(Event::Asked(asked)) = self.event_at(index) else {
            return;
        };
        asked.number = event.get("step").and_then(Value::as_u64).or(asked.number);
        let Some(generated) = event.get("generated") else {
            return;
        };
        asked.action = generated
            .get("action")
            .and_then(|action| serde_json::from_value(action.clone()).ok());
        if asked.action.is_some() {
            asked.text.clear();
        }
        if let Some(malformed) = generated.get("malformed") {
            asked.failure = Some(format!("not an action: {}", as_text(Some(malformed))));
        }
        if asked.requests.is_empty() {
            asked.model = text(generated, "/model").map(str::to_owned).or(asked.model.take());
        }
    }
}

impl Asked {
    /// Takes what one request was answered with.
    pub(super) fn answer(&mut self, result: &Value, step: Step) {
        let answer = Answer {
            status: result.get("status").and_then(Value::as_u64),
            error: result
                .get("error")
                .filter(|error| !error.is_null())
                .map(|error| as_text(Some(error))),
        };
        if let Some(request) = self.requests.iter_mut().rev().find(|request| request.answer.is_none()) {
            request.answer = Some(answer);
        }
        let tokens = step.tokens.unwrap_or_default();
        if tokens.input.is_none() || tokens.output.is_none() {
            self.uncounted += 1;
        }
        self.tokens = plus(self.tokens, tokens);
        self.model = step.model.or(self.model.take());
        self.reasoning = step.reasoning;
        self.text = step.message;
    }

    /// Takes what the call as a whole came to.
    pub(super) fn conclude(&mut self, result: &Value, milliseconds: u64) {
        self.milliseconds = Some(milliseconds);
        self.cost = result
            .get("cost")
            .and_then(|cost| serde_json::from_value(cost.clone()).ok());
        self.model = text(result, "/model").map(str::to_owned).or(self.model.take());
        self.failure = result
            .get("failure")
            .filter(|failure| !failure.is_null())
            .map(|failure| as_text(Some(failure)));
        let unanswered = self.requests.iter().filter(|request| request.answer.is_none());
        self.uncounted += unanswered.count() as u64;
        if self.requests.is_empty() {
            self.tokens = result
                .get("tokens")
                .and_then(|tokens| serde_json::from_value(tokens.clone()).ok())
                .unwrap_or_default();
        }
    }
}

fn plus(left: Tokens, right: Tokens) -> Tokens {
    let sum = |left: Option<u64>, right: Option<u64>| match (left, right) {
        (None, None) => None,
        (left, right) => Some(left.unwrap_or(0).saturating_add(right.unwrap_or(0))),
    };
    Tokens {
        input: sum(left.input, right.input),
        output: sum(left.output, right.output),
        cached: sum(left.cached, right.cached),
        reasoning: sum(left.reasoning, right.reasoning),
        cost_microusd: sum(left.cost_microusd, right.cost_microusd),
    }
}
