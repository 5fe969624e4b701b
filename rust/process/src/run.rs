//! Supervises one run in the calling thread: one poll loop over the warden, the streams, the switch and the clock.
//! Decides when to ask for the end; the warden does the ending.

use crate::channel::Received;
use crate::launch::{self, Launched};
use crate::record::{GO, KILL, Kind, Record, TERMINATE};
use crate::streams::Streams;
use crate::{
    Cancel, Command, Death, Early, Ending, Error, Event, Flow, Outcome, PeakMemory, Pid, Proof, Reason, StopSignal,
    Tree, Usage, system,
};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

/// Runs a command to its end and the end of all it started, in the calling thread. `observer` hears of who holds the command
/// before it starts, of the start, and of each piece of captured output, and may end the command.
///
/// # Errors
/// Any [`Error`]: the command did not run.
pub fn run(command: &Command, cancel: &Cancel, observer: &mut dyn FnMut(Event<'_>) -> Flow) -> Result<Outcome, Error> {
    supervise(command, None, cancel, observer)
}

/// The same with a warden that was started early. One that does not fit the command is ended, and another started.
///
/// # Errors
/// As [`run`].
pub fn run_early(
    command: &Command,
    early: Early,
    cancel: &Cancel,
    observer: &mut dyn FnMut(Event<'_>) -> Flow,
) -> Result<Outcome, Error> {
    supervise(command, Some(early), cancel, observer)
}

fn supervise(
    command: &Command,
    early: Option<Early>,
    cancel: &Cancel,
    observer: &mut Observer<'_>,
) -> Result<Outcome, Error> {
    if let Some(reason) = cancel.reason() {
        return Err(Error::Cancelled { reason });
    }
    let began = Instant::now();
    let fitting = match early {
        Some(early) => early.take(command)?,
        None => None,
    };
    let (launched, ends) = match fitting {
        Some(launched) => launched,
        None => launch::launch(command)?,
    };
    let streams = Streams::new(command, ends);
    let mut supervisor = Supervisor {
        command,
        cancel,
        launched,
        streams,
        deadline: command.deadline.and_then(|deadline| began.checked_add(deadline)),
        phase: Phase::Running,
        cause: None,
        here: None,
        layers: None,
        failed: None,
        ended: None,
        clear: false,
        silent: false,
        forced: false,
        withheld: false,
        patrol: command
            .patrol
            .as_ref()
            .and_then(|patrol| began.checked_add(patrol.every)),
    };
    supervisor.release(observer);
    supervisor.supervise(began, observer)
}

/// How many times as long as a look of the patrol took it rests at least.
const PATROL_REST: u32 = 10;

/// Why the host asked for the end.
#[derive(Debug, Clone, Copy)]
enum Cause {
    Deadline,
    Cancel(Reason),
    Limit,
    Observer,
}

/// How far the end has come, and when the next step is due.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Running,
    Terminating(Option<Instant>),
    Killing(Option<Instant>),
}

struct Supervisor<'a> {
    command: &'a Command,
    cancel: &'a Cancel,
    launched: Launched,
    streams: Streams<'a>,
    deadline: Option<Instant>,
    phase: Phase,
    cause: Option<Cause>,
    here: Option<Pid>,
    layers: Option<u64>,
    failed: Option<Record>,
    ended: Option<Record>,
    clear: bool,
    silent: bool,
    forced: bool,
    withheld: bool,
    /// When the patrol goes next.
    patrol: Option<Instant>,
}

type Observer<'o> = dyn FnMut(Event<'_>) -> Flow + 'o;

impl Supervisor<'_> {
    /// Lets the command start, unless the observer withholds it.
    fn release(&mut self, observer: &mut Observer<'_>) {
        let holder = Event::Holding {
            warden: self.launched.warden,
            contains: self.launched.namespace,
        };
        match observer(holder) {
            Flow::Continue => self.launched.channel.request(GO),
            Flow::Stop => {
                self.withheld = true;
                self.kill();
            }
        }
    }

    fn supervise(mut self, began: Instant, observer: &mut Observer<'_>) -> Result<Outcome, Error> {
        let tree = loop {
            self.wait()?;
            self.hear(observer);
            if self.launched.reap() {
                // What it said last may have come after we listened.
                self.hear(observer);
                break self.proof();
            }
            self.look(observer);
            if self.give_up() {
                break Tree::Unknown;
            }
        };
        if self.withheld {
            return Err(Error::Withheld);
        }
        if let Some(record) = &self.failed {
            return Err(launch::failure(self.command, record));
        }
        let Some(layers) = self.layers else {
            return Err(Error::WardenLost);
        };
        self.streams.drain(observer);
        let (ending, stop_signal, usage) = (self.ending(), self.stop_signal(), self.usage());
        let (stdout, stderr) = self.streams.finish();
        Ok(Outcome {
            ending,
            stop_signal,
            tree,
            stdout,
            stderr,
            elapsed: began.elapsed(),
            usage,
            layers,
            exhausted: self.command.confinement.exhausted(),
        })
    }

    fn proof(&self) -> Tree {
        match (self.launched.namespace, self.clear) {
            (true, _) => Tree::Clear(Proof::Namespace),
            (false, true) => Tree::Clear(Proof::Reaped),
            (false, false) => Tree::Unknown,
        }
    }

    fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Running => [self.deadline, self.patrol].into_iter().flatten().min(),
            Phase::Terminating(due) | Phase::Killing(due) => due,
        }
    }

    fn wait(&self) -> Result<(), Error> {
        let on = |descriptor: RawFd, events| libc::pollfd {
            fd: descriptor,
            events,
            revents: 0,
        };
        let unused = on(-1, 0);
        let mut watched = [unused; 7];
        let mut places = watched.iter_mut();
        let mut watch = |descriptor, events| {
            if let Some(place) = places.next() {
                *place = on(descriptor, events);
            }
        };
        watch(self.launched.descriptor(), libc::POLLIN);
        // A socket at its end is always ready; the pidfd alone says the rest.
        if !self.silent {
            watch(self.launched.channel.descriptor(), libc::POLLIN);
        }
        if matches!(self.phase, Phase::Running)
            && let Some(descriptor) = self.cancel.descriptor()
        {
            watch(descriptor.as_raw_fd(), libc::POLLIN);
        }
        if !matches!(self.phase, Phase::Killing(_))
            && let Some(descriptor) = self.cancel.urgency()
        {
            watch(descriptor.as_raw_fd(), libc::POLLIN);
        }
        // Nothing is shown before the start is.
        if self.layers.is_some() {
            self.streams
                .outputs()
                .for_each(|descriptor| watch(descriptor, libc::POLLIN));
        }
        if let Some(descriptor) = self.streams.input() {
            watch(descriptor, libc::POLLOUT);
        }
        let timeout = self.due().map(|due| due.saturating_duration_since(Instant::now()));
        system::poll(&mut watched, timeout).map_err(|source| Error::Watch { source })
    }

    /// Takes every record that has come.
    fn hear(&mut self, observer: &mut Observer<'_>) {
        loop {
            let (record, sender) = match self.launched.channel.receive() {
                Received::Record(record, sender) => (record, sender),
                Received::Nothing => return,
                Received::End => {
                    self.silent = true;
                    return;
                }
            };
            if record.is(Kind::Here) {
                self.here = sender;
            } else if record.is(Kind::Failed) {
                self.failed = Some(record);
            } else if record.is(Kind::Started) {
                self.layers = Some(record.layers);
                let warden = self.launched.warden;
                let command = match (self.here, self.launched.namespace) {
                    (Some(here), _) => here,
                    (None, true) => warden,
                    (None, false) => Pid(record.process),
                };
                if observer(Event::Started {
                    warden,
                    command,
                    layers: record.layers,
                }) == Flow::Stop
                {
                    self.stop(Cause::Observer);
                }
            } else if record.is(Kind::Ended) {
                self.ended = Some(record);
                self.clear = record.clear != 0;
                self.settle();
            } else if record.is(Kind::Clear) {
                self.clear = true;
            }
        }
    }

    /// Moves the streams, and looks for reasons to end.
    fn look(&mut self, observer: &mut Observer<'_>) {
        self.streams.write();
        if self.layers.is_some() && self.streams.read(observer) == Flow::Stop {
            self.stop(Cause::Observer);
        }
        if self.layers.is_some() && self.streams.over_limit() {
            self.stop(Cause::Limit);
        }
        if let Some(reason) = self.cancel.reason() {
            self.stop(Cause::Cancel(reason));
            if self.cancel.is_urgent() && matches!(self.phase, Phase::Terminating(_)) {
                self.kill();
            }
        }
        let now = Instant::now();
        if let (Phase::Running, Some(patrol), Some(due)) = (self.phase, &self.command.patrol, self.patrol)
            && due <= now
        {
            if (patrol.look)() == Flow::Stop {
                self.stop(Cause::Observer);
            }
            // A look that took long is not taken again at once.
            let rest = patrol.every.max(now.elapsed().saturating_mul(PATROL_REST));
            self.patrol = Instant::now().checked_add(rest);
        }
        match self.phase {
            Phase::Running if self.deadline.is_some_and(|deadline| deadline <= now) => self.stop(Cause::Deadline),
            Phase::Terminating(Some(due)) if due <= now => self.kill(),
            Phase::Running | Phase::Terminating(_) | Phase::Killing(_) => {}
        }
    }

    /// Asks for the end, for the first reason only.
    fn stop(&mut self, cause: Cause) {
        if self.cause.is_some() || self.ended.is_some() {
            return;
        }
        self.cause = Some(cause);
        if self.command.grace.is_zero() {
            return self.kill();
        }
        self.launched.channel.request(TERMINATE);
        self.phase = Phase::Terminating(after(self.command.grace));
    }

    /// Asks for the end of everything now.
    fn kill(&mut self) {
        self.launched.channel.request(KILL);
        self.settle();
    }

    /// Starts the time to settle, once.
    fn settle(&mut self) {
        if !matches!(self.phase, Phase::Killing(_)) {
            self.phase = Phase::Killing(after(self.command.settle));
        }
    }

    /// Whether the time to settle is over.
    fn give_up(&mut self) -> bool {
        let Phase::Killing(Some(due)) = self.phase else {
            return false;
        };
        if due > Instant::now() {
            return false;
        }
        if self.forced || !self.launched.namespace {
            return true;
        }
        // A stopped or stuck pid 1 holds its namespace; its death does not depend on what it hears.
        self.launched.kill();
        self.forced = true;
        self.phase = Phase::Killing(after(self.command.settle));
        false
    }

    fn death(&self) -> Death {
        match &self.ended {
            None => Death::Unknown,
            Some(record) if libc::WIFEXITED(record.status) => Death::Exited(libc::WEXITSTATUS(record.status)),
            Some(record) => Death::Signalled(libc::WTERMSIG(record.status)),
        }
    }

    fn ending(&self) -> Ending {
        let death = self.death();
        // A command that ended before the warden had sent it anything ended by itself, whatever was asked meanwhile.
        let by_itself = self.ended.is_some_and(|record| record.signal == 0);
        match (self.cause, death) {
            (Some(Cause::Deadline), death) if !by_itself => Ending::DeadlineExceeded { death },
            (Some(Cause::Cancel(reason)), death) if !by_itself => Ending::Cancelled { reason, death },
            (Some(Cause::Limit), death) if !by_itself => Ending::OutputLimit { death },
            (Some(Cause::Observer), death) if !by_itself => Ending::Stopped { death },
            (_, Death::Exited(status)) => Ending::Exited(status),
            (_, Death::Signalled(signal)) => Ending::Signalled(signal),
            (_, Death::Unknown) => Ending::Unknown,
        }
    }

    fn stop_signal(&self) -> StopSignal {
        let sent = match (&self.ended, self.cause, self.phase) {
            (Some(record), _, _) => record.signal,
            (None, None, _) => 0,
            (None, Some(_), Phase::Killing(_)) => libc::SIGKILL,
            (None, Some(_), Phase::Running | Phase::Terminating(_)) => libc::SIGTERM,
        };
        match sent {
            0 => StopSignal::None,
            libc::SIGTERM => StopSignal::Terminate,
            _ => StopSignal::Kill,
        }
    }

    fn usage(&self) -> Option<Usage> {
        let record = self.ended.as_ref()?;
        let bytes = record.peak_kibibytes.saturating_mul(1024);
        let peak_memory = if record.peak_kibibytes > record.floor_kibibytes {
            PeakMemory::Exactly(bytes)
        } else {
            PeakMemory::AtMost(bytes)
        };
        Some(Usage {
            peak_memory,
            cpu: Duration::from_micros(record.cpu_microseconds),
        })
    }
}

/// A span from now; `None` if it lies beyond what the clock can say, which is never.
fn after(span: Duration) -> Option<Instant> {
    Instant::now().checked_add(span)
}
