//! The loop's generator over a grant's routes: asks the first one with capacity, and when its provider refuses for a limit,
//! asks the next one for the same step. Nothing that was done is done again: the loop has acted on no reply yet. Every refusal,
//! switch and exhaustion is in the trace, and what all attempts used is in the one result that the loop gets.

use crate::clients::{Ready, Routes, Unavailable, route_json};
use crate::keeper::Keeper;
use crate::progress::{Progress, Watch};
use crate::recorder::Recorder;
use coder_agent::{
    CapacityKind, CapacityRefusal, Generate, Generated, GenerationFailure, GenerationRequest, HostFault, ResetOrigin,
};
use coder_digest::{Clock, Digest};
use coder_failover::{
    Books, CapacityBook, Choice, Failover, Hold, Lane, LimitKind, Reading, Refusal, Reset, ResetSource, UsageBook,
    UsageEntry, UsageWindow,
};
use coder_process::Cancel;
use coder_trace::{EffectKind, Source, Step};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Nobody asks a provider for its usage again before this many seconds after it has told of it.
const PROBE_SECONDS: i64 = 60;

/// The loop's generator, whose every request is in the trace.
pub(crate) struct Recording<'a> {
    routes: Vec<Ready>,
    unavailable: Vec<Unavailable>,
    failover: Failover,
    books: Books,
    /// As last read; stands when a book cannot be read any more.
    capacity: CapacityBook,
    usage: UsageBook,
    /// The route of the last request.
    on: Option<usize>,
    keeper: Keeper,
    clock: Arc<dyn Clock>,
    cancel: Cancel,
    watch: Watch<'a>,
}

/// What made a run leave a route.
struct Refused {
    hold: Hold,
    /// `recorded`, or why the shared book does not have it.
    capacity_book: Value,
    refusal: CapacityRefusal,
}

impl<'a> Recording<'a> {
    /// A generator over these routes, which were checked with the grant, and the books of a store.
    ///
    /// # Errors
    /// [`crate::Error::Books`] when a book cannot be understood: whom a limit holds would be a guess.
    pub(crate) fn new(
        routes: Routes,
        books: Books,
        recorder: Recorder,
        clock: Arc<dyn Clock>,
        cancel: Cancel,
        watch: Watch<'a>,
    ) -> Result<Self, crate::Error> {
        let Routes { ready, unavailable } = routes;
        let lanes: Vec<Lane> = ready.iter().map(|ready| ready.lane.clone()).collect();
        Ok(Self {
            failover: Failover::new(lanes)?,
            capacity: books.capacity()?,
            usage: books.usage()?,
            books,
            routes: ready,
            unavailable,
            on: None,
            keeper: Keeper::new(recorder),
            clock,
            cancel,
            watch,
        })
    }

    /// Says which fallbacks cannot be used here.
    pub(crate) fn record_unavailable(&self) -> Result<(), HostFault> {
        if self.unavailable.is_empty() {
            return Ok(());
        }
        let left_out = self.unavailable.iter();
        let left_out: Vec<Value> = left_out
            .map(|left| json!({ "route": route_json(&left.route), "unavailable": left.reason }))
            .collect();
        let words = "Routes that cannot be used here are left out.";
        self.note(words, "routes_unavailable", json!({ "routes": left_out }))
    }

    /// Where there is a choice or a limit: what holds each route, and where the run starts.
    pub(crate) fn record_capacity(&self) -> Result<(), HostFault> {
        let now = self.now();
        let choice = self.failover.choose(&self.capacity, &self.usage, &BTreeSet::new(), now);
        let first = Choice::Lane(0);
        if self.routes.len() == 1 && choice == first {
            return Ok(());
        }
        let starts_on = match choice {
            Choice::Lane(place) => self.route(place),
            Choice::Exhausted { .. } => Value::Null,
        };
        let routes = self.standing(now);
        let words = match (choice == first, starts_on.is_null()) {
            (true, _) => "The run starts on its first route.",
            (false, true) => "No route has capacity.",
            (false, false) => "The first route has no capacity; the run starts on another.",
        };
        self.note(
            words,
            "route_capacity",
            json!({ "routes": routes, "starts_on": starts_on }),
        )
    }

    fn note(&self, words: &str, extension: &str, content: Value) -> Result<(), HostFault> {
        self.keeper.recorder().note(words, extension, &content)
    }

    fn now(&self) -> i64 {
        self.clock.now().0.div_euclid(1000)
    }

    fn route(&self, place: usize) -> Value {
        self.routes
            .get(place)
            .map_or(Value::Null, |ready| route_json(&ready.route))
    }

    /// What holds each route.
    fn standing(&self, now: i64) -> Vec<Value> {
        let holds = self.failover.holds(&self.capacity, &self.usage, now);
        let standing = self.routes.iter().zip(holds);
        standing
            .map(|(ready, hold)| json!({ "route": route_json(&ready.route), "refusal": hold }))
            .collect()
    }

    /// Other runs write the books, too. One that cannot be read now leaves what was read before.
    fn refresh(&mut self) {
        if let Ok(capacity) = self.books.capacity() {
            self.capacity = capacity;
        }
        if let Ok(usage) = self.books.usage() {
            self.usage = usage;
        }
    }

    /// Asks one route; its request is an effect of its own.
    fn ask(&mut self, place: usize, request: &GenerationRequest<'_>) -> Generated {
        let Some(Ready { route, client, .. }) = self.routes.get_mut(place) else {
            return Generated::unsent(GenerationFailure::HostFault(HostFault(format!(
                "there is no route {place}"
            ))));
        };
        let arguments = json!({
            "step": request.step,
            "provider": route.provider(),
            "model": client.model(),
            "effort": route.effort,
            "system_digest": Digest::of(request.system.as_bytes()),
            "prompt_digest": Digest::of(request.prompt.as_bytes()),
            "prompt_bytes": request.prompt.len(),
        });
        let recorder = self.keeper.recorder().clone();
        let intent = match recorder.intend("The model is asked.", EffectKind::Generation, arguments) {
            Ok(intent) => intent,
            Err(fault) => return Generated::unsent(GenerationFailure::HostFault(fault)),
        };
        let cancel = &self.cancel;
        let generated = client.call(request, &mut self.keeper, &|| cancel.is_cancelled());
        let result = json!({
            "model": generated.model,
            "tokens": generated.tokens,
            "cost": generated.cost,
            "attempts": generated.attempts,
            "failure": generated.reply.as_ref().err(),
        });
        if let Err(fault) = recorder.conclude(Step::new(Source::System, "The generation ended."), intent, &result) {
            return Generated {
                reply: Err(GenerationFailure::HostFault(fault)),
                ..generated
            };
        }
        if let Err(GenerationFailure::HostFault(fault)) = &generated.reply {
            recorder.declare_fault(fault.0.clone());
        }
        generated
    }

    /// Enters what the provider said of its windows beside its last reply. Only evidence for a later refusal is lost when the
    /// book does not take it.
    fn enter_usage(&mut self, place: usize, limit_reached: bool) {
        let windows: Vec<UsageWindow> = self.keeper.take_windows();
        let now = self.now();
        let Some(lane) = self.failover.lanes().get(place).filter(|_| !windows.is_empty()) else {
            return;
        };
        let entry = UsageEntry {
            provider: lane.provider.clone(),
            account: lane.account.clone(),
            attempted_at: now,
            next_probe_at: now.saturating_add(PROBE_SECONDS),
            reading: Some(Reading {
                provider: lane.provider.clone(),
                observed_at: now,
                windows,
                limit_reached,
                plan: None,
            }),
            failure: None,
        };
        if let Ok(usage) = self.books.record_usage(entry) {
            self.usage = usage;
        }
    }

    /// Enters a refusal into the shared book, or keeps it for this run where the book does not take it.
    fn enter_refusal(&mut self, place: usize, refusal: CapacityRefusal) -> Option<Refused> {
        let now = self.now();
        let lane = self.failover.lanes().get(place)?;
        let hold = Hold::of(lane, &understood(&refusal), &self.usage, now);
        let capacity_book = match self.books.record(hold.clone()) {
            Ok(book) => {
                self.capacity = book;
                json!("recorded")
            }
            Err(error) => {
                self.failover.remember(hold.clone());
                json!({ "unrecorded": crate::world::chain(&error) })
            }
        };
        Some(Refused {
            hold,
            capacity_book,
            refusal,
        })
    }

    /// Takes a route. That it is another one than the last is in the trace, with the refusal, or that the way back is free.
    fn take(&mut self, place: usize, refused: Option<&Refused>) -> Result<(), HostFault> {
        let left = self.on.replace(place);
        let Some(left) = left.filter(|left| *left != place) else {
            return Ok(());
        };
        let (from, to) = (self.route(left), self.route(place));
        let words = match refused {
            Some(_) => "The provider refused for a limit; the run goes on on another route.",
            None => "A route of higher preference has capacity again.",
        };
        if let Some(ready) = self.routes.get(place) {
            self.watch.tell(&Progress::Switched {
                provider: ready.route.provider(),
                model: ready.route.model.as_str(),
            });
        }
        let switch = json!({
            "from": from,
            "to": to,
            "refusal": refused.map(|refused| &refused.hold),
            "message": refused.map(|refused| refused.refusal.message.as_str()),
            "capacity_book": refused.map(|refused| &refused.capacity_book),
        });
        self.note(words, "route_switch", switch)
    }

    /// Says that no route is left, and makes the refusal that ends the loop.
    fn exhausted(&self, resets_at: Option<i64>, refused: Option<Refused>) -> GenerationFailure {
        let exhausted = json!({
            "from": self.on.map(|place| self.route(place)),
            "refusal": refused.as_ref().map(|refused| &refused.hold),
            "message": refused.as_ref().map(|refused| refused.refusal.message.as_str()),
            "resets_at": resets_at,
            "routes": self.standing(self.now()),
            "capacity_book": refused.as_ref().map(|refused| &refused.capacity_book),
        });
        if let Err(fault) = self.note("No admitted route has capacity.", "route_exhausted", exhausted) {
            return GenerationFailure::HostFault(fault);
        }
        let last = refused.map(|refused| refused.refusal);
        GenerationFailure::Capacity(CapacityRefusal {
            resets_at,
            ..last.unwrap_or_else(|| CapacityRefusal::without_reset(CapacityKind::UsageLimit, "every route is held"))
        })
    }
}

impl Generate for Recording<'_> {
    fn generate(&mut self, request: &GenerationRequest<'_>) -> Generated {
        let mut total = Generated::unsent(GenerationFailure::Cancelled);
        let mut tried = BTreeSet::new();
        let mut refused: Option<Refused> = None;
        self.refresh();
        self.watch.tell(&Progress::Asking { step: request.step });
        loop {
            let place = match self.failover.choose(&self.capacity, &self.usage, &tried, self.now()) {
                Choice::Lane(place) => place,
                Choice::Exhausted { resets_at } => {
                    total.reply = Err(self.exhausted(resets_at, refused));
                    return total;
                }
            };
            if let Err(fault) = self.take(place, refused.as_ref()) {
                total.reply = Err(GenerationFailure::HostFault(fault));
                return total;
            }
            total = added(total, self.ask(place, request));
            let limit = match &total.reply {
                Err(GenerationFailure::Capacity(refusal)) => Some(refusal.clone()),
                Ok(_) | Err(_) => None,
            };
            self.enter_usage(place, limit.is_some());
            let Some(refusal) = limit else {
                return total;
            };
            tried.insert(place);
            refused = self.enter_refusal(place, refusal);
        }
    }
}

/// The sums of all attempts, and the reply and model of the last.
fn added(total: Generated, last: Generated) -> Generated {
    Generated {
        reply: last.reply,
        model: last.model,
        tokens: total.tokens.plus(last.tokens),
        cost: total.cost.plus(last.cost),
        attempts: total.attempts.saturating_add(last.attempts),
        uncounted_attempts: total.uncounted_attempts.saturating_add(last.uncounted_attempts),
    }
}

/// A client's refusal as the books take it.
fn understood(refusal: &CapacityRefusal) -> Refusal {
    let from = |origin: &ResetOrigin| match origin.clone() {
        ResetOrigin::Field { name } => ResetSource::Field { name },
        ResetOrigin::Header { name } => ResetSource::Header { name },
        ResetOrigin::Message { zone } => ResetSource::Message { zone },
    };
    let reset = refusal.resets_at.zip(refusal.origin.as_ref());
    Refusal {
        kind: match refusal.kind {
            CapacityKind::UsageLimit => LimitKind::UsageLimit,
            CapacityKind::RateLimit => LimitKind::RateLimit,
        },
        reset: reset.map(|(at, origin)| Reset { at, from: from(origin) }),
        plan: refusal.plan.clone(),
        window_minutes: refusal.window_minutes,
    }
}

#[cfg(test)]
#[path = "generation_tests.rs"]
mod tests;
