//! A store as it ought to be, that knows nothing of the real one: a few fields per task, a map from bytes to receipts; and
//! random steps that are done on both. Names carry a prefix, so that many sequences can share one real store.
#![allow(dead_code)]

use crate::common::{self, admitted, effect, ended, id, result};
use coder_digest::TaskId;
use coder_journal::{Ask, Cleanup, Error, Event, Remains, RunResult, Store, Task};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

#[derive(Debug, Clone)]
pub enum Step {
    Submit {
        command: u8,
        task: u8,
    },
    Cancel {
        command: u8,
        task: u8,
        seen: i8,
    },
    Correct {
        command: u8,
        task: u8,
        seen: i8,
    },
    Continue {
        command: u8,
        task: u8,
        seen: i8,
    },
    /// At whatever revision the task is.
    Ask {
        command: u8,
        task: u8,
        ask: u8,
    },
    Retry {
        which: usize,
    },
    Admit {
        task: u8,
    },
    Effect {
        task: u8,
    },
    Spawn {
        task: u8,
    },
    End {
        task: u8,
        clear: bool,
    },
    Lose {
        task: u8,
    },
    Settle {
        task: u8,
        proved: bool,
    },
    CheckBegin {
        task: u8,
    },
    CheckEnd {
        task: u8,
    },
    CheckLose {
        task: u8,
    },
    Archive {
        task: u8,
    },
    Restore {
        task: u8,
    },
    Reopen,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 1..24)
}

fn step() -> impl Strategy<Value = Step> {
    let (command, task, seen) = (
        0..12_u8,
        0..3_u8,
        prop_oneof![4 => Just(0_i8), 1 => Just(-1), 1 => Just(1)],
    );
    let of = task.clone();
    prop_oneof![
        4 => (command.clone(), task.clone()).prop_map(|(command, task)| Step::Submit { command, task }),
        2 => (command.clone(), task.clone(), seen.clone()).prop_map(|(command, task, seen)| Step::Cancel { command, task, seen }),
        2 => (command.clone(), task.clone(), seen.clone()).prop_map(|(command, task, seen)| Step::Correct { command, task, seen }),
        2 => (command.clone(), task.clone(), seen).prop_map(|(command, task, seen)| Step::Continue { command, task, seen }),
        2 => (command, task.clone(), 0..3_u8).prop_map(|(command, task, ask)| Step::Ask { command, task, ask }),
        2 => any::<usize>().prop_map(|which| Step::Retry { which }),
        4 => task.clone().prop_map(|task| Step::Admit { task }),
        3 => task.clone().prop_map(|task| Step::Effect { task }),
        1 => task.clone().prop_map(|task| Step::Spawn { task }),
        4 => (task.clone(), prop::bool::weighted(0.8)).prop_map(|(task, clear)| Step::End { task, clear }),
        1 => task.clone().prop_map(|task| Step::Lose { task }),
        1 => (task.clone(), any::<bool>()).prop_map(|(task, proved)| Step::Settle { task, proved }),
        2 => task.clone().prop_map(|task| Step::CheckBegin { task }),
        2 => task.clone().prop_map(|task| Step::CheckEnd { task }),
        1 => task.clone().prop_map(|task| Step::CheckLose { task }),
        1 => task.prop_map(|task| Step::Archive { task }),
        1 => of.prop_map(|task| Step::Restore { task }),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub revision: u64,
    pub status: &'static str,
    pub checks: &'static str,
    run: bool,
    effect: bool,
    spawned: bool,
    result: bool,
    /// Whether the result names a candidate, without which checks do not pass.
    candidate: bool,
    corrected: bool,
    archived: bool,
}

impl Known {
    const NEW: Self = Self {
        revision: 1,
        status: "queued",
        checks: "not_run",
        run: false,
        effect: false,
        spawned: false,
        result: false,
        candidate: false,
        corrected: false,
        archived: false,
    };

    fn is_active(&self) -> bool {
        ["running", "cancel_requested"].contains(&self.status)
    }

    fn is_settled(&self) -> bool {
        ["finished", "cancelled"].contains(&self.status) && self.checks != "running"
    }

    pub fn reserves_tree(&self) -> bool {
        self.is_active() || self.status == "unknown" || self.checks == "running"
    }

    fn state(&self) -> (u64, &'static str, &'static str) {
        (self.revision, self.status, self.checks)
    }
}

/// A revision with status and checks, or the code of a refusal.
pub type Answer = Result<(u64, &'static str, &'static str), &'static str>;

#[derive(Debug, Default, Clone)]
pub struct Model {
    pub prefix: u64,
    pub tasks: BTreeMap<u8, Known>,
    commands: BTreeSet<u8>,
    /// The exact bytes of each accepted command that has them, with its receipt.
    accepted: Vec<(Vec<u8>, Answer)>,
}

impl Model {
    pub fn new(prefix: u64) -> Self {
        Self {
            prefix,
            ..Self::default()
        }
    }

    pub fn name(&self, task: u8) -> TaskId {
        id(&format!("t-{}-{task}", self.prefix))
    }

    fn command_name(&self, command: u8) -> String {
        format!("c-{}-{command}", self.prefix)
    }

    pub fn commands(&self) -> usize {
        self.commands.len()
    }

    fn command(
        &mut self,
        command: u8,
        task: u8,
        bytes: &[u8],
        seen: Option<u64>,
        act: fn(&mut Known) -> bool,
    ) -> Answer {
        if let Some((_, answer)) = self.accepted.iter().find(|(known, _)| known == bytes) {
            return *answer;
        }
        if self.commands.contains(&command) {
            return Err("command_conflict");
        }
        let next = match (self.tasks.get(&task), seen) {
            (None, None) => Known::NEW,
            (None, Some(_)) => return Err("not_found"),
            (Some(_), None) => return Err("invalid_transition"),
            (Some(known), Some(_)) if known.archived => return Err("invalid_transition"),
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
        let answer = Ok(next.state());
        self.commands.insert(command);
        self.accepted.push((bytes.to_vec(), answer));
        self.tasks.insert(task, next);
        answer
    }

    fn event(&mut self, task: u8, act: impl FnOnce(&mut Known) -> bool) -> Answer {
        let known = self.tasks.get(&task).ok_or("not_found")?;
        let mut next = known.clone();
        next.revision += 1;
        if known.archived || !act(&mut next) {
            return Err("invalid_transition");
        }
        let answer = next.state();
        self.tasks.insert(task, next);
        Ok(answer)
    }

    fn settle(&mut self, task: u8, proved: bool) -> Answer {
        let Some(known) = self.tasks.get(&task).cloned() else {
            return Err("not_found");
        };
        if known.checks == "running" {
            return self.event(task, |known| {
                known.checks = "unavailable";
                true
            });
        }
        match (known.run && !known.result, proved) {
            (true, true) => self.event(task, |known| {
                (known.status, known.result) = ("finished", true);
                true
            }),
            (true, false) if known.status != "unknown" => self.event(task, |known| {
                known.status = "unknown";
                true
            }),
            (true | false, true | false) => Ok(known.state()),
        }
    }

    /// Every exact command again: its receipt is the first one, whatever happened since.
    pub fn receipts_hold(&self, store: &Store) {
        for (bytes, answer) in self.accepted.iter().filter(|(bytes, _)| bytes.starts_with(b"{")) {
            assert_eq!(receipt(store.command(bytes)), *answer);
        }
    }

    /// Whether the store has exactly this.
    pub fn is_that_of(&self, store: &Store) -> bool {
        (0..3).all(|task| match (store.show(&self.name(task)), self.tasks.get(&task)) {
            (Ok(shown), Some(known)) => {
                (shown.revision, shown.status.as_str(), shown.checks.as_str()) == known.state()
                    && shown.reserves_tree() == known.reserves_tree()
            }
            (Err(error), None) => error.code() == "not_found",
            (Ok(_), None) | (Err(_), Some(_)) => false,
        })
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
    if known.run {
        known.corrected = true;
        if known.checks != "running" {
            known.checks = "disputed";
        }
        if known.status == "running" {
            known.status = "cancel_requested";
        }
    }
    true
}

fn follow_up(known: &mut Known) -> bool {
    let free = known.is_settled();
    *known = Known {
        revision: known.revision,
        ..Known::NEW
    };
    free
}

fn receipt(receipt: Result<coder_journal::Receipt, Error>) -> Answer {
    receipt
        .map(|receipt| (receipt.revision, receipt.status.as_str(), receipt.checks.as_str()))
        .map_err(|error| error.code())
}

fn state(task: Result<Task, Error>) -> Answer {
    task.map(|task| (task.revision, task.status.as_str(), task.checks.as_str()))
        .map_err(|error| error.code())
}

fn record(store: &Store, task: &TaskId, event: impl FnOnce(&Task) -> Event) -> Answer {
    state(store.own(task, Duration::ZERO).and_then(|owner| {
        let shown = store.show(task)?;
        owner.record(&event(&shown), None)
    }))
}

/// What is done, and the answer that was found and the one that was expected.
pub fn perform(step: &Step, model: &mut Model, store: &Store) -> (Answer, Answer) {
    let revision = |model: &Model, task: u8, seen: i8| {
        let known = model.tasks.get(&task).map_or(1, |known| known.revision);
        known.saturating_add_signed(seen.into())
    };
    match *step {
        Step::Submit { command, task } => {
            let name = model.name(task);
            let bytes = common::submit(&model.command_name(command), name.as_str(), &format!("/trees/{name}"));
            let found = receipt(store.command(&bytes));
            (found, model.command(command, task, &bytes, None, |_| true))
        }
        Step::Cancel { command, task, seen } => {
            let seen = revision(model, task, seen);
            let bytes = common::cancel(&model.command_name(command), &model.name(task), seen);
            let found = receipt(store.command(&bytes));
            (found, model.command(command, task, &bytes, Some(seen), cancel))
        }
        Step::Correct { command, task, seen } => {
            let seen = revision(model, task, seen);
            let bytes = common::correct(&model.command_name(command), &model.name(task), seen);
            let found = receipt(store.command(&bytes));
            (found, model.command(command, task, &bytes, Some(seen), correct))
        }
        Step::Continue { command, task, seen } => {
            let seen = revision(model, task, seen);
            let bytes = common::follow_up(&model.command_name(command), &model.name(task), seen);
            let found = receipt(store.command(&bytes));
            (found, model.command(command, task, &bytes, Some(seen), follow_up))
        }
        Step::Ask { command, task, ask } => {
            let (asked, act): (Ask, fn(&mut Known) -> bool) = match ask {
                0 => (
                    Ask::Cancel {
                        reason: "enough".into(),
                    },
                    cancel,
                ),
                1 => (
                    Ask::Correct {
                        prompt: "p".into(),
                        reason: "r".into(),
                    },
                    correct,
                ),
                _ => (Ask::Continue { prompt: "p".into() }, follow_up),
            };
            let command_id = model.command_name(command).parse().unwrap();
            let found = receipt(store.ask(&command_id, &model.name(task), &asked));
            let seen = revision(model, task, 0);
            let bytes = format!("ask {ask} {command} {task}").into_bytes();
            (found, model.command(command, task, &bytes, Some(seen), act))
        }
        Step::Retry { which } => {
            let real: Vec<_> = model
                .accepted
                .iter()
                .filter(|(bytes, _)| bytes.starts_with(b"{"))
                .collect();
            match real.is_empty() {
                true => (Err("nothing"), Err("nothing")),
                false => {
                    let (bytes, answer) = real[which % real.len()];
                    (receipt(store.command(bytes)), *answer)
                }
            }
        }
        Step::Admit { task } => {
            let found = record(store, &model.name(task), admitted);
            let expected = model.event(task, |known| {
                let free = known.status == "queued" && !known.run;
                (known.status, known.run) = ("running", true);
                free
            });
            (found, expected)
        }
        Step::Effect { task } => {
            let found = record(store, &model.name(task), effect);
            let expected = model.event(task, |known| {
                let free = known.status == "running" && !known.effect;
                known.effect = true;
                free
            });
            (found, expected)
        }
        Step::Spawn { task } => {
            let found = record(store, &model.name(task), |_| Event::Spawned { process_id: 7 });
            let expected = model.event(task, |known| {
                let free = known.is_active() && known.effect && !known.spawned && !known.result;
                known.spawned = true;
                free
            });
            (found, expected)
        }
        Step::End { task, clear } => {
            let result = RunResult {
                group_clear: clear,
                ..result()
            };
            let found = record(store, &model.name(task), |_| ended(result));
            let expected = model.event(task, |known| {
                let free = known.is_active() && !known.result;
                (known.result, known.candidate) = (true, true);
                known.status = if clear { "finished" } else { "unknown" };
                free
            });
            (found, expected)
        }
        Step::Lose { task } => {
            let found = record(store, &model.name(task), |_| Event::OwnerLost {});
            let expected = model.event(task, |known| {
                let free = known.is_active() && !known.result;
                known.status = "unknown";
                free
            });
            (found, expected)
        }
        Step::Settle { task, proved } => {
            let cleanup = match proved {
                true => Cleanup::ProvedClear { how: "test".into() },
                false => Cleanup::Unknown,
            };
            let found = state(store.recover(&model.name(task), |_| Remains {
                cleanup,
                trace_digest: None,
            }));
            (found, model.settle(task, proved))
        }
        Step::CheckBegin { task } => {
            let found = record(store, &model.name(task), |_| Event::CheckIntent {});
            let expected = model.event(task, |known| {
                let free = known.status == "finished" && known.result && known.checks == "not_run";
                known.checks = "running";
                free
            });
            (found, expected)
        }
        Step::CheckEnd { task } => {
            let found = record(store, &model.name(task), |shown| match shown.run {
                Some(_) => common::checked(common::report(shown)),
                None => Event::CheckOwnerLost {},
            });
            let expected = model.event(task, |known| {
                let free = known.checks == "running" && known.candidate;
                known.checks = if known.corrected { "disputed" } else { "passed" };
                free
            });
            (found, expected)
        }
        Step::CheckLose { task } => {
            let found = record(store, &model.name(task), |_| Event::CheckOwnerLost {});
            let expected = model.event(task, |known| {
                let free = known.checks == "running";
                known.checks = "unavailable";
                free
            });
            (found, expected)
        }
        Step::Archive { task } => {
            let found = store
                .archive(&model.name(task))
                .map(|_| (0, "", ""))
                .map_err(|error| error.code());
            let expected = match model.tasks.get_mut(&task) {
                None => Err("not_found"),
                Some(known) if known.archived || known.is_settled() => {
                    known.archived = true;
                    Ok((0, "", ""))
                }
                Some(_) => Err("invalid_transition"),
            };
            (found, expected)
        }
        Step::Restore { task } => {
            let found = store
                .restore(&model.name(task))
                .map(|()| (0, "", ""))
                .map_err(|error| error.code());
            let expected = match model.tasks.get_mut(&task) {
                None => Err("not_found"),
                Some(known) => {
                    known.archived = false;
                    Ok((0, "", ""))
                }
            };
            (found, expected)
        }
        Step::Reopen => (Err("nothing"), Err("nothing")),
    }
}

/// How many cases to try: as many as the variable says.
pub fn cases(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap())
}
