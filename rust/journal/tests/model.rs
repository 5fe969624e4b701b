//! Random sequences of commands, events, retries and reopenings against a model that knows nothing of the store: a few
//! fields per task, a map from bytes to receipts. Each answer must be the model's, and at the end replay must find no fault.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod common;

use coder_digest::TaskId;
use coder_journal::{Cleanup, Content, Error, Event, Remains, RunResult, Status, Store};
use common::{World, admitted, effect, ended, id, result};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Debug, Clone)]
enum Step {
    Submit { command: u8, task: u8 },
    Cancel { command: u8, task: u8, seen: i8 },
    CancelNow { command: u8, task: u8 },
    Correct { command: u8, task: u8, seen: i8 },
    Continue { command: u8, task: u8, seen: i8 },
    Retry { which: usize },
    Admit { task: u8 },
    Effect { task: u8 },
    End { task: u8, clear: bool },
    Lose { task: u8 },
    Settle { task: u8, proved: bool },
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let (command, task, seen) = (
        0..12_u8,
        0..3_u8,
        prop_oneof![4 => Just(0_i8), 1 => Just(-1), 1 => Just(1)],
    );
    prop_oneof![
        4 => (command.clone(), task.clone()).prop_map(|(command, task)| Step::Submit { command, task }),
        2 => (command.clone(), task.clone(), seen.clone()).prop_map(|(command, task, seen)| Step::Cancel { command, task, seen }),
        1 => (command.clone(), task.clone()).prop_map(|(command, task)| Step::CancelNow { command, task }),
        2 => (command.clone(), task.clone(), seen.clone()).prop_map(|(command, task, seen)| Step::Correct { command, task, seen }),
        2 => (command, task.clone(), seen).prop_map(|(command, task, seen)| Step::Continue { command, task, seen }),
        2 => any::<usize>().prop_map(|which| Step::Retry { which }),
        4 => task.clone().prop_map(|task| Step::Admit { task }),
        2 => task.clone().prop_map(|task| Step::Effect { task }),
        3 => (task.clone(), prop::bool::weighted(0.8)).prop_map(|(task, clear)| Step::End { task, clear }),
        1 => task.clone().prop_map(|task| Step::Lose { task }),
        1 => (task, any::<bool>()).prop_map(|(task, proved)| Step::Settle { task, proved }),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Debug, Default, Clone)]
struct Known {
    revision: u64,
    status: &'static str,
    run: bool,
    effect: bool,
    result: bool,
}

#[derive(Default)]
struct Model {
    tasks: BTreeMap<u8, Known>,
    commands: BTreeSet<u8>,
    accepted: Vec<(Vec<u8>, u64, &'static str)>,
}

type Answer = Result<(u64, &'static str), &'static str>;

impl Model {
    fn command(
        &mut self,
        command: u8,
        task: u8,
        bytes: &[u8],
        seen: Option<u64>,
        act: fn(&mut Known) -> bool,
    ) -> Answer {
        if let Some((_, revision, status)) = self.accepted.iter().find(|(known, ..)| known == bytes) {
            return Ok((*revision, status));
        }
        if self.commands.contains(&command) {
            return Err("command_conflict");
        }
        let next = match (self.tasks.get(&task), seen) {
            (None, None) => Known {
                revision: 1,
                status: "queued",
                ..Known::default()
            },
            (Some(_), None) => return Err("invalid_transition"),
            (None, Some(_)) => return Err("not_found"),
            (Some(known), Some(seen)) if seen != known.revision => return Err("revision_mismatch"),
            (Some(known), Some(_)) => {
                let mut next = known.clone();
                next.revision += 1;
                if !act(&mut next) {
                    return Err("invalid_transition");
                }
                next
            }
        };
        let answer = (next.revision, next.status);
        self.commands.insert(command);
        self.accepted.push((bytes.to_vec(), answer.0, answer.1));
        self.tasks.insert(task, next);
        Ok(answer)
    }

    fn event(&mut self, task: u8, act: impl FnOnce(&mut Known) -> bool) -> Answer {
        let known = self.tasks.get(&task).ok_or("not_found")?;
        let mut next = known.clone();
        next.revision += 1;
        if !act(&mut next) {
            return Err("invalid_transition");
        }
        let answer = (next.revision, next.status);
        self.tasks.insert(task, next);
        Ok(answer)
    }
}

fn cancel(known: &mut Known) -> bool {
    known.status = match known.status {
        "queued" => "cancelled",
        "running" => "cancel_requested",
        _ => return false,
    };
    true
}

fn correct(known: &mut Known) -> bool {
    if known.status == "running" {
        known.status = "cancel_requested";
    }
    true
}

fn follow_up(known: &mut Known) -> bool {
    let free = ["finished", "cancelled"].contains(&known.status);
    *known = Known {
        revision: known.revision,
        status: "queued",
        ..Known::default()
    };
    free
}

fn active(known: &Known) -> bool {
    ["running", "cancel_requested"].contains(&known.status)
}

fn name(task: u8) -> TaskId {
    id(&format!("t-{task}"))
}

fn answer(receipt: Result<coder_journal::Receipt, Error>) -> Answer {
    receipt
        .map(|receipt| (receipt.revision, receipt.status.as_str()))
        .map_err(|error| error.code())
}

fn record(store: &Store, task: u8, event: impl FnOnce(&coder_journal::Task) -> Event) -> Answer {
    let task = name(task);
    let outcome = store.own(&task, Duration::ZERO).and_then(|owner| {
        let shown = store.show(&task)?;
        owner.record(&event(&shown), None)
    });
    outcome
        .map(|task| (task.revision, task.status.as_str()))
        .map_err(|error| error.code())
}

fn run(steps: Vec<Step>) {
    let world = World::new();
    let mut store = world.store.clone();
    let mut model = Model::default();
    for step in steps {
        let revision = |model: &Model, task: u8, seen: i8| {
            let known = model.tasks.get(&task).map_or(1, |known| known.revision);
            known.saturating_add_signed(seen.into())
        };
        let command = |command: u8| format!("c-{command}");
        let (expected, found) = match step {
            Step::Submit { command: c, task } => {
                let bytes = common::submit(&command(c), name(task).as_str(), &format!("/trees/{task}"));
                (
                    model.command(c, task, &bytes, None, |_| true),
                    answer(store.command(&bytes)),
                )
            }
            Step::Cancel { command: c, task, seen } => {
                let seen = revision(&model, task, seen);
                let bytes = common::cancel(&command(c), &name(task), seen);
                (
                    model.command(c, task, &bytes, Some(seen), cancel),
                    answer(store.command(&bytes)),
                )
            }
            Step::Correct { command: c, task, seen } => {
                let seen = revision(&model, task, seen);
                let bytes = common::correct(&command(c), &name(task), seen);
                (
                    model.command(c, task, &bytes, Some(seen), correct),
                    answer(store.command(&bytes)),
                )
            }
            Step::Continue { command: c, task, seen } => {
                let seen = revision(&model, task, seen);
                let bytes = common::follow_up(&command(c), &name(task), seen);
                (
                    model.command(c, task, &bytes, Some(seen), follow_up),
                    answer(store.command(&bytes)),
                )
            }
            Step::CancelNow { command: c, task } => {
                let seen = revision(&model, task, 0);
                let found = answer(store.cancel_now(&command(c).parse().unwrap(), &name(task), "enough"));
                let bytes = format!("now {c} {task}").into_bytes();
                (model.command(c, task, &bytes, Some(seen), cancel), found)
            }
            Step::Retry { which } => {
                let real: Vec<_> = model
                    .accepted
                    .iter()
                    .filter(|(bytes, ..)| bytes.starts_with(b"{"))
                    .collect();
                if real.is_empty() {
                    continue;
                }
                let (bytes, revision, status) = real[which % real.len()];
                (Ok((*revision, *status)), answer(store.command(bytes)))
            }
            Step::Admit { task } => {
                let expected = model.event(task, |known| {
                    let free = known.status == "queued" && !known.run;
                    (known.status, known.run) = ("running", true);
                    free
                });
                (expected, record(&store, task, admitted))
            }
            Step::Effect { task } => {
                let expected = model.event(task, |known| {
                    let free = known.status == "running" && !known.effect;
                    known.effect = true;
                    free
                });
                (expected, record(&store, task, effect))
            }
            Step::End { task, clear } => {
                let expected = model.event(task, |known| {
                    let free = active(known) && !known.result;
                    known.result = true;
                    known.status = if clear { "finished" } else { "unknown" };
                    free
                });
                let result = RunResult {
                    group_clear: clear,
                    ..result()
                };
                (expected, record(&store, task, |_| ended(result)))
            }
            Step::Lose { task } => {
                let expected = model.event(task, |known| {
                    let free = active(known) && !known.result;
                    known.status = "unknown";
                    free
                });
                (expected, record(&store, task, |_| Event::OwnerLost {}))
            }
            Step::Settle { task, proved } => {
                let cleanup = if proved {
                    Cleanup::ProvedClear { how: "test".into() }
                } else {
                    Cleanup::Unknown
                };
                let found = store.recover(&name(task), |_| Remains {
                    cleanup,
                    trace_digest: None,
                });
                let found = found
                    .map(|task| (task.revision, task.status.as_str()))
                    .map_err(|error| error.code());
                let open = model.tasks.get(&task).is_some_and(|known| known.run && !known.result);
                let unknown = model.tasks.get(&task).is_some_and(|known| known.status == "unknown");
                let expected = if open && proved {
                    model.event(task, |known| {
                        (known.status, known.result) = ("finished", true);
                        true
                    })
                } else if open && !unknown {
                    model.event(task, |known| {
                        known.status = "unknown";
                        true
                    })
                } else {
                    let known = model.tasks.get(&task);
                    known.map(|known| (known.revision, known.status)).ok_or("not_found")
                };
                (expected, found)
            }
            Step::Reopen => {
                store = world.again();
                continue;
            }
        };
        assert_eq!(found, expected, "{step:?}");
    }
    finish(&store, &model);
}

fn finish(store: &Store, model: &Model) {
    assert_eq!(store.verify_all().unwrap(), []);
    let listed = store.list().unwrap();
    assert_eq!(listed.len(), model.tasks.len());
    let mut commands = 0;
    for (task, known) in &model.tasks {
        let shown = store.show(&name(*task)).unwrap();
        assert_eq!((shown.revision, shown.status.as_str()), (known.revision, known.status));
        let history = store.history(&name(*task)).unwrap();
        assert_eq!(history.len() as u64, known.revision);
        commands += history
            .iter()
            .filter(|record| matches!(record.content, Content::Command { .. }))
            .count();
        assert_eq!(
            shown.reserves_tree(),
            matches!(
                shown.status,
                Status::Running | Status::CancelRequested | Status::Unknown
            )
        );
    }
    assert_eq!(commands, model.accepted.len());
}

#[test]
fn every_answer_is_the_models() {
    let half = || {
        let config = Config {
            cases: 1000,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new(config)
            .run(&proptest::collection::vec(step(), 1..24), |steps| {
                run(steps);
                Ok(())
            })
            .unwrap();
    };
    // Two at once, to be done in half the time.
    std::thread::scope(|scope| {
        scope.spawn(half);
        half();
    });
}
