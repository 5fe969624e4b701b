//! The host's side of the command's three streams while it runs: input is fed as it is taken, output is recorded and
//! shown as it comes. Never waits.

use crate::captured::Recorder;
use crate::prepared::HostEnds;
use crate::system::{self, Blocked};
use crate::{Captured, Command, Event, Flow, Output, Stdin, Stream, Window};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The bytes still to be fed, and where.
struct Feed<'a> {
    pipe: OwnedFd,
    rest: &'a [u8],
    guard: Blocked,
}

/// One captured stream.
struct Tap {
    stream: Stream,
    pipe: Option<OwnedFd>,
    recorder: Recorder,
    /// Once this many bytes were seen, no more is shown.
    shown: u64,
}

/// All three.
pub(crate) struct Streams<'a> {
    feed: Option<Feed<'a>>,
    taps: [Tap; 2],
    buffer: Box<[u8]>,
    stdout_stop: Option<u64>,
}

type Observer<'o> = dyn FnMut(Event<'_>) -> Flow + 'o;

impl<'a> Streams<'a> {
    pub(crate) fn new(command: &'a Command, ends: HostEnds) -> Self {
        let feed = match (&command.stdin, ends.stdin) {
            (Stdin::Bytes(bytes), Some(pipe)) if !bytes.is_empty() => Some(Feed {
                pipe,
                rest: bytes,
                guard: Blocked::broken_pipe(),
            }),
            // With nothing to feed the pipe is closed here, and the command reads its end.
            (Stdin::Bytes(_) | Stdin::Null | Stdin::Inherit, _) => None,
        };
        let shown = command.stdout_stop.unwrap_or(u64::MAX);
        Self {
            feed,
            taps: [
                Tap::new(Stream::Stdout, command.stdout, ends.stdout, shown),
                Tap::new(Stream::Stderr, command.stderr, ends.stderr, u64::MAX),
            ],
            buffer: vec![0; 64 << 10].into_boxed_slice(),
            stdout_stop: command.stdout_stop,
        }
    }

    pub(crate) fn input(&self) -> Option<RawFd> {
        self.feed.as_ref().map(|feed| feed.pipe.as_raw_fd())
    }

    pub(crate) fn outputs(&self) -> impl Iterator<Item = RawFd> {
        self.taps
            .iter()
            .filter_map(|tap| tap.pipe.as_ref().map(AsRawFd::as_raw_fd))
    }

    /// Feeds what the command takes now.
    pub(crate) fn write(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        match system::write(&feed.pipe, feed.rest) {
            Ok(count) => feed.rest = feed.rest.get(count..).unwrap_or_default(),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return,
            Err(error) => {
                if error.kind() == io::ErrorKind::BrokenPipe {
                    feed.guard.discard_broken_pipe();
                }
                feed.rest = &[];
            }
        }
        if feed.rest.is_empty() {
            self.feed = None;
        }
    }

    /// Takes one piece of each stream that has one.
    pub(crate) fn read(&mut self, observer: &mut Observer<'_>) -> Flow {
        let mut flow = Flow::Continue;
        for tap in &mut self.taps {
            let (_count, wanted) = tap.take(&mut self.buffer, observer);
            if wanted == Flow::Stop {
                flow = Flow::Stop;
            }
        }
        flow
    }

    /// Takes what the pipes hold at this moment and no more: someone outside the tree may hold a pipe and go on writing.
    pub(crate) fn drain(&mut self, observer: &mut Observer<'_>) {
        self.feed = None;
        for tap in &mut self.taps {
            let mut left = tap.pipe.as_ref().map_or(0, system::readable_bytes);
            while left > 0 {
                let room = left.min(self.buffer.len());
                let (count, _too_late_to_stop) = tap.take(self.buffer.get_mut(..room).unwrap_or_default(), observer);
                if count == 0 {
                    break;
                }
                left = left.saturating_sub(count);
            }
        }
    }

    pub(crate) fn over_limit(&self) -> bool {
        self.stdout_stop
            .is_some_and(|limit| self.taps[0].recorder.total() >= limit && self.taps[0].captures())
    }

    pub(crate) fn finish(self) -> (Captured, Captured) {
        let [stdout, stderr] = self.taps;
        (stdout.recorder.finish(), stderr.recorder.finish())
    }
}

impl Tap {
    fn new(stream: Stream, output: Output, pipe: Option<OwnedFd>, shown: u64) -> Self {
        let window = match output {
            Output::Capture(window) => window,
            Output::Null | Output::Inherit => Window { head: 0, tail: 0 },
        };
        Self {
            stream,
            pipe,
            recorder: Recorder::new(window),
            shown,
        }
    }

    /// Whether anything was ever read here, which a stream that is not captured never was.
    fn captures(&self) -> bool {
        self.pipe.is_some() || self.recorder.total() > 0
    }

    fn take(&mut self, buffer: &mut [u8], observer: &mut Observer<'_>) -> (usize, Flow) {
        let Some(pipe) = &self.pipe else {
            return (0, Flow::Continue);
        };
        let count = match system::read(pipe, buffer) {
            Ok(0) => {
                self.pipe = None;
                0
            }
            Ok(count) => count,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => 0,
            Err(_) => {
                self.pipe = None;
                0
            }
        };
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() {
            return (0, Flow::Continue);
        }
        let offset = self.recorder.total();
        self.recorder.push(bytes);
        let flow = if offset < self.shown {
            observer(Event::Output {
                stream: self.stream,
                offset,
                bytes,
            })
        } else {
            Flow::Continue
        };
        (count, flow)
    }
}
