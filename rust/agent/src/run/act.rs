//! What an action does: its question, its files in view, its commands, its end. The order matters: what is recorded is
//! complete before anything ends the run, and nothing runs after a stop or a fault.

use super::{Run, Waiting};
use crate::action::{Action, Ask};
use crate::ending::Ending;
use crate::event::{CommandRecord, Event};
use crate::projection::project_output;
use crate::step::{Command, Deed, Step};

/// What became of the commands of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commands {
    None,
    AllSucceeded,
    OneFailed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    No,
    Now,
}

impl Run<'_, '_> {
    pub(super) fn act(&mut self, number: u32, messages: Vec<String>, action: Action) -> Result<(), Ending> {
        if !action.reply.trim().is_empty() {
            self.reply = Some(action.reply.clone());
        }
        let asks = self.asks(number, &action)?;
        let chosen = match action.view.is_empty() {
            true => None,
            false => Some(self.view.choose(&action.view)),
        };
        if let Some(note) = chosen.as_ref().and_then(|chosen| chosen.note.clone()) {
            self.note(number, note)?;
        }
        let mut step = Step {
            number,
            messages,
            deed: Deed::NoAction("it was stopped"),
        };
        let (ran, commands) = self.run_commands(number, action.commands);
        let identities = commands.iter().filter_map(|command| {
            command
                .end
                .map(|end| (command.script.as_str(), end, command.output.as_str()))
        });
        self.repetition = Some(self.guard.step(identities));
        step.deed = Deed::Action {
            reply: action.reply,
            rationale: action.rationale,
            commands,
        };
        self.finish_step(step);
        let outcome = ran?;

        if asks == Asks::Now && self.take_messages(number.saturating_add(1))? == Waiting::Nothing {
            return Err(Ending::Asked { ask: Ask::Question });
        }
        if action.finished {
            match outcome {
                Commands::OneFailed => self.note(
                    number,
                    "You said finished, but a command of that step failed, so the run goes on.".to_owned(),
                )?,
                Commands::None | Commands::AllSucceeded => {
                    if self.take_messages(number.saturating_add(1))? == Waiting::Nothing {
                        return Err(Ending::Finished);
                    }
                }
            }
        }
        let new_files = chosen.as_ref().map_or(0, |chosen| chosen.new);
        let did_something = outcome != Commands::None || new_files > 0 || action.finished || asks == Asks::Now;
        self.count_idle(number, did_something)?;
        if chosen.is_some() || outcome != Commands::None {
            self.check_stopped()?;
            self.view.read(self.parts.environment).map_err(Ending::HostFault)?;
        }
        Ok(())
    }

    fn asks(&mut self, step: u32, action: &Action) -> Result<Asks, Ending> {
        let note = match action.ask {
            Ask::None => return Ok(Asks::No),
            Ask::Question if action.commands.is_empty() && !action.reply.trim().is_empty() => return Ok(Asks::Now),
            Ask::Question => {
                "A question to the user needs its text in `reply` and no commands beside it; the run goes on."
            }
            Ask::Approval => "No approval is needed: what the environment allows is approved. The run goes on.",
        };
        self.note(step, note.to_owned())?;
        Ok(Asks::No)
    }

    /// Runs scripts in order until one fails or the run ends; what was left out is among the commands, too.
    fn run_commands(&mut self, step: u32, scripts: Vec<String>) -> (Result<Commands, Ending>, Vec<Command>) {
        let mut commands = Vec::with_capacity(scripts.len());
        let mut outcome = match scripts.is_empty() {
            true => Ok(Commands::None),
            false => Ok(Commands::AllSucceeded),
        };
        for (index, script) in scripts.into_iter().enumerate() {
            let mut record = CommandRecord {
                number: index + 1,
                script,
                end: None,
                seconds: None,
                output: String::new(),
                note: None,
            };
            if matches!(outcome, Ok(Commands::AllSucceeded)) {
                outcome = self.run_command(&mut record);
            }
            let event = Event::Ran { step, command: record };
            if let Err(ending) = self.tell(&event)
                && outcome.is_ok()
            {
                outcome = Err(ending);
            }
            if let Event::Ran { command, .. } = event {
                commands.push(Command {
                    script: command.script,
                    end: command.end,
                    output: command.output,
                    note: command.note,
                });
            }
        }
        (outcome, commands)
    }

    fn run_command(&mut self, record: &mut CommandRecord) -> Result<Commands, Ending> {
        self.check_stopped()?;
        let ran = self.parts.environment.run(&record.script);
        record.end = Some(ran.end);
        record.seconds = Some(ran.seconds);
        record.output = project_output(&ran.stdout, &ran.stderr);
        record.note = ran.note;
        if let Some(fault) = ran.fault {
            return Err(Ending::HostFault(fault));
        }
        self.check_stopped()?;
        Ok(match ran.end.is_success() {
            true => Commands::AllSucceeded,
            false => Commands::OneFailed,
        })
    }

    fn count_idle(&mut self, step: u32, did_something: bool) -> Result<(), Ending> {
        if did_something {
            self.idle = 0;
            return Ok(());
        }
        self.idle += 1;
        if self.idle >= self.limits.idle_steps {
            return Err(Ending::Idle);
        }
        self.note(
            step,
            format!(
                "Step {step} did nothing: no command, no file that was not in view, no end. Run a command, look at another \
                 file, ask, or finish."
            ),
        )
    }
}
