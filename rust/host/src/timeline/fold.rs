//! The folding: each step given in its order, each effect's steps put together by its number.

use super::{Command, Disposition, Entry, Event, Output, Read, Switch, Timeline};
use crate::capacity;
use coder_digest::Timestamp;
use coder_failover::Hold;
use coder_trace::{
    EffectKind, EffectRecord, HolderRecord, ProcessRecord, RecordedStep, ResultRecord, StreamName, StreamRecord,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::HashMap;

mod model;
mod results;
mod words;

use results::{conclude_command, conclude_read};
use words::{as_text, command_line, text};

/// A story in the making.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    timeline: Timeline,
    /// The entry of each effect that has no result yet, by turn and number.
    open: HashMap<(Turn, u64), usize>,
    /// The call whose requests are being made.
    call: Option<usize>,
}

/// Whose numbers an effect's number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Turn {
    This,
    Earlier,
}

/// The step that is being folded.
#[derive(Debug, Clone, Copy)]
struct Place {
    step: u64,
    at: Timestamp,
    turn: Turn,
}

impl Timeline {
    /// The story of `steps`, the first of which is number `first` of its trace.
    pub(crate) fn of(first: u64, steps: impl IntoIterator<Item = RecordedStep>) -> Self {
        let mut fold = Fold::default();
        for (number, recorded) in (first..).zip(steps) {
            fold.take(number, recorded);
        }
        fold.finish()
    }
}

impl Fold {
    /// Takes step `number` of the trace.
    pub(crate) fn take(&mut self, number: u64, recorded: RecordedStep) {
        let RecordedStep { at, mut step } = recorded;
        let totals = &mut self.timeline.totals;
        totals.first.get_or_insert(at);
        totals.last = Some(at);
        let mut place = Place {
            step: number,
            at,
            turn: Turn::This,
        };
        let mut extensions = std::mem::take(&mut step.extensions);
        if let Some(Value::Object(carried)) = extensions.remove("carried") {
            place.turn = Turn::Earlier;
            extensions.extend(carried);
        }
        if extensions.remove("carried_from").is_some() {
            place.turn = Turn::Earlier;
        }
        if let Some(intent) = take::<EffectRecord>(&mut extensions, "effect") {
            self.begin(place, intent);
        } else if let Some(result) = take::<ResultRecord>(&mut extensions, "effect_result") {
            step.extensions = extensions;
            self.conclude(place, result, step);
            return;
        } else if let Some(piece) = take::<StreamRecord>(&mut extensions, "stream") {
            self.stream(place, &piece);
        } else if take::<ProcessRecord>(&mut extensions, "process").is_some()
            || take::<HolderRecord>(&mut extensions, HolderRecord::EXTENSION).is_some()
        {
            // That its process exists, and by whom it is held, says nothing a person asks; the trace has the numbers.
        } else if let Some(event) = extensions.remove("microcoder") {
            self.event(place, event.get("event").unwrap_or(&event));
        } else if let Some(admission) = extensions.remove("admission") {
            let mut admission = admission;
            if let Value::Object(fields) = &mut admission {
                fields.append(&mut extensions);
            }
            self.push(place, Event::Admitted(admission));
        } else if let Some(summary) = extensions.remove("adapter_summary") {
            // A copy of the journal's result, from which it is told.
            extensions.remove("result");
            let disposition = disposition(&step.message, &summary, &mut extensions);
            self.push(place, Event::Ended(disposition));
        } else if let Some(switch) = extensions.remove("route_switch") {
            self.timeline.totals.switches += 1;
            self.push(place, Event::Switched(switched(&switch)));
        } else if extensions.is_empty() {
            let (source, text) = (step.source, step.message.clone());
            self.push(place, Event::Said { source, text });
        }
        for (name, content) in extensions {
            let message = step.message.clone();
            self.push(place, Event::Noted { name, message, content });
        }
    }

    /// The story so far.
    pub(crate) fn finish(mut self) -> Timeline {
        self.timeline.totals.open = self.open.keys().filter(|(turn, _)| *turn == Turn::This).count() as u64;
        self.timeline
    }

    fn push(&mut self, place: Place, event: Event) -> usize {
        self.timeline.entries.push(Entry {
            step: place.step,
            at: place.at,
            carried: place.turn == Turn::Earlier,
            event,
        });
        self.timeline.entries.len() - 1
    }

    fn event_at(&mut self, index: usize) -> Option<&mut Event> {
        self.timeline.entries.get_mut(index).map(|entry| &mut entry.event)
    }

    fn begin(&mut self, place: Place, intent: EffectRecord) {
        let (kind, arguments) = (&intent.kind, &intent.arguments);
        let index = match kind {
            EffectKind::Command | EffectKind::ContainerCommand => {
                let command = Command {
                    script: match arguments.get("program") {
                        Some(program) => command_line(program, arguments.get("arguments")),
                        None => as_text(arguments.get("script").or(arguments.get("command"))),
                    },
                    ..Command::default()
                };
                self.timeline.totals.commands += 1;
                self.push(place, Event::Command(Box::new(command)))
            }
            EffectKind::Read => {
                self.timeline.totals.reads += 1;
                let path = as_text(arguments.get("path"));
                self.push(place, read(path))
            }
            EffectKind::Generation => self.begin_call(place, arguments),
            EffectKind::CodexRequest
            | EffectKind::ClaudeRequest
            | EffectKind::AnthropicRequest
            | EffectKind::OpenaiRequest
            | EffectKind::ScriptedRequest => self.begin_request(place, kind.to_string(), arguments),
            EffectKind::Decision | EffectKind::AgentSession(_) | EffectKind::AgentPrompt(_) => {
                let (kind, arguments) = (kind.to_string(), intent.arguments);
                let result = None;
                self.push(
                    place,
                    Event::Other {
                        kind,
                        arguments,
                        result,
                    },
                )
            }
        };
        self.open.insert((place.turn, intent.sequence), index);
    }

    fn conclude(&mut self, place: Place, record: ResultRecord, step: coder_trace::Step) {
        let index = match self.open.remove(&(place.turn, record.sequence)) {
            Some(index) => index,
            // The intent lies on an earlier page.
            None => match record.kind {
                EffectKind::Command | EffectKind::ContainerCommand => self.push(place, Event::Command(Box::default())),
                EffectKind::Read => self.push(place, read(String::new())),
                EffectKind::Generation => self.push(place, Event::Asked(Box::default())),
                EffectKind::CodexRequest
                | EffectKind::ClaudeRequest
                | EffectKind::AnthropicRequest
                | EffectKind::OpenaiRequest
                | EffectKind::ScriptedRequest => self.begin_request(place, record.kind.to_string(), &Value::Null),
                EffectKind::Decision | EffectKind::AgentSession(_) | EffectKind::AgentPrompt(_) => {
                    let kind = record.kind.to_string();
                    let (arguments, result) = (Value::Null, None);
                    self.push(
                        place,
                        Event::Other {
                            kind,
                            arguments,
                            result,
                        },
                    )
                }
            },
        };
        let began = self.timeline.entries.get(index).map_or(place.at, |entry| entry.at);
        let took = u64::try_from(place.at.0.saturating_sub(began.0)).unwrap_or_default();
        let is_call = matches!(record.kind, EffectKind::Generation);
        let Some(event) = self.event_at(index) else { return };
        match event {
            Event::Command(command) => {
                conclude_command(command, &record.result, step.call);
                self.timeline.totals.failed_commands += u64::from(command_failed(self.timeline.entries.get(index)));
            }
            Event::Read(read) => conclude_read(read, &record.result),
            Event::Asked(asked) if is_call => {
                asked.conclude(&record.result, took);
                self.call = None;
                self.count_call(index);
            }
            Event::Asked(asked) => asked.answer(&record.result, step),
            Event::Other { result, .. } => *result = Some(record.result),
            Event::Said { .. } | Event::Admitted(_) | Event::Switched(_) | Event::Noted { .. } | Event::Ended(_) => {}
        }
    }

    fn stream(&mut self, place: Place, piece: &StreamRecord) {
        let Some(index) = self.open.get(&(place.turn, piece.effect)).copied() else {
            return;
        };
        if let Some(Event::Command(command)) = self.event_at(index) {
            let output = match piece.name {
                StreamName::Stdout => &mut command.stdout,
                StreamName::Stderr => &mut command.stderr,
            };
            let missing = piece.offset.saturating_sub(output.bytes());
            if missing > 0 {
                output.skip(missing);
            }
            output.push(&piece.bytes.0);
        }
    }

    /// What the loop told; most of it says again what the effects show.
    fn event(&mut self, place: Place, event: &Value) {
        match text(event, "/type").unwrap_or_default() {
            "generated" => self.generated(place, event),
            "ran" => self.ran(place, event),
            "ended" => {}
            "judged" => self.judged(place, event),
            name => {
                let noted = Event::Noted {
                    name: name.to_owned(),
                    message: as_text(event.get("note")),
                    content: event.clone(),
                };
                self.push(place, noted);
            }
        }
    }

    /// A judgment without an answer is only said once, where the run says that there will be none.
    fn judged(&mut self, place: Place, event: &Value) {
        let Some(judgment) = event.get("judgment") else { return };
        let answers = ["progress", "repeating", "done", "complete"].iter();
        let answers: Vec<String> = answers
            .filter_map(|name| Some(format!("{name} {}", judgment.get(name)?)))
            .collect();
        if !answers.is_empty() {
            let noted = Event::Noted {
                name: "judged".to_owned(),
                message: format!("judged: {}", answers.join(", ")),
                content: judgment.clone(),
            };
            self.push(place, noted);
        }
    }

    fn ran(&mut self, place: Place, event: &Value) {
        let script = text(event, "/command/script").unwrap_or_default();
        if event.pointer("/command/end").is_some_and(Value::is_null) {
            let command = Command {
                script: script.to_owned(),
                left_out: true,
                ..Command::default()
            };
            self.push(place, Event::Command(Box::new(command)));
            return;
        }
        let note = text(event, "/command/note").map(str::to_owned);
        let commands = self.timeline.entries.iter_mut().rev();
        let mut commands = commands.filter_map(|entry| match &mut entry.event {
            Event::Command(command) => Some(command),
            _ => None,
        });
        if let (Some(command), Some(note)) = (commands.next(), note)
            && command.script == script
        {
            command.note = Some(note);
        }
    }
}

/// Takes the extension `name` out where it has the shape it should have; another shape stays and is noted as it is.
fn take<T: DeserializeOwned>(extensions: &mut Map<String, Value>, name: &str) -> Option<T> {
    let parsed = serde_json::from_value(extensions.get(name)?.clone()).ok()?;
    extensions.remove(name);
    Some(parsed)
}

fn command_failed(entry: Option<&Entry>) -> bool {
    match entry.map(|entry| &entry.event) {
        Some(Event::Command(command)) => command.failed(),
        Some(_) | None => false,
    }
}

fn read(path: String) -> Event {
    Event::Read(Read {
        path,
        found: None,
        content: Output::default(),
    })
}

fn switched(switch: &Value) -> Switch {
    let route = |name: &str| match switch.get(name) {
        Some(Value::Object(route)) => {
            let words = ["provider", "route", "model", "effort"].iter();
            let words: Vec<&str> = words.filter_map(|word| route.get(*word)?.as_str()).collect();
            words.join(" ")
        }
        other => as_text(other),
    };
    Switch {
        from: route("from"),
        to: route("to"),
        refusal: match switch.get("refusal") {
            Some(Value::Null) => "a route of higher preference has capacity again".to_owned(),
            refusal => match refusal.and_then(|hold| serde_json::from_value::<Hold>(hold.clone()).ok()) {
                Some(hold) => capacity::told(&hold, hold.observed_at),
                None => as_text(refusal),
            },
        },
        book: switch.get("capacity_book").map(|book| as_text(Some(book))),
    }
}

fn disposition(message: &str, summary: &Value, extensions: &mut Map<String, Value>) -> Disposition {
    let faults = |candidate: &Value| -> Option<Vec<String>> {
        Some(
            candidate
                .get("faults")?
                .as_array()?
                .iter()
                .map(|fault| as_text(Some(fault)))
                .collect(),
        )
    };
    Disposition {
        ending: as_text(summary.get("ending")),
        summary: message.to_owned(),
        reply: text(summary, "/outcome/reply").map(str::to_owned),
        fault: extensions
            .remove("host_fault")
            .and_then(|fault| fault.as_str().map(str::to_owned)),
        candidate_faults: extensions
            .remove("candidate")
            .and_then(|candidate| faults(&candidate))
            .unwrap_or_default(),
        // After all that is told in words was taken out.
        more: std::mem::take(extensions),
    }
}
