//! One command in the boundary, without a task or a store: what `microcoder exec`, the demonstration's check and
//! `coder_core.Boundary` run. Returns how it ended and what really held it.

mod report;

pub use report::Report;

use crate::command_environment::CommandEnvironment;
use crate::confine::{self, Environment};
use crate::git_link::Place;
use crate::guards::Absent;
use crate::limits::Limits;
use crate::login_environment::{Asked, Person};
use crate::quarantine::{Held, Root};
use crate::refused;
use crate::{Access, Denied, Error, denials, git_link};
use coder_boundary::toolchains::Toolchains;
use coder_boundary::{
    Boundary, Connections, Early, Enforced, Exhausted, Gateway, Ground, HostName, Layer, Level, Mode, Network, Outside,
    Permission, Policy, Private, Resources, Scratch, Why, Workspace,
};
use coder_process::{Cancel, Command, Event, Flow, Outcome, Output, Stdin, Window};
use coder_workspace::{Git, Published};
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What one command is given.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The directory the command works in.
    pub workspace: PathBuf,
    /// Whether the workspace may be changed.
    pub mode: Mode,
    /// Also writable.
    pub writes: Vec<PathBuf>,
    /// Also readable.
    pub reads: Vec<PathBuf>,
    /// Out of reach whatever else is granted.
    pub sealed: Vec<PathBuf>,
    /// The network; `None` is what the access mode has.
    pub network: Option<Network>,
    /// How much is confined.
    pub access: Access,
    /// The memory bound of each process, in bytes.
    pub memory_bytes: Option<u64>,
    /// Further bounds.
    pub limits: Limits,
    /// The least level that is accepted; with less the command does not start.
    pub require: Level,
    /// Debuggers, which then reach the command's own processes.
    pub debugger: Permission,
    /// User namespaces that the command makes.
    pub nested_namespaces: Permission,
    /// Ends the command after this long.
    pub timeout: Option<Duration>,
    /// Variables added to the command's environment.
    pub variables: Vec<(OsString, OsString)>,
    /// How many commands will run.
    pub commands: Commands,
    /// Which layers are to be had, where that is known already.
    pub ground: Option<Ground>,
}

/// How many commands a prepared execution is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commands {
    /// One: its home and `/tmp` are memory of its own, which is cheap to make and leaves nothing behind.
    One,
    /// Several: what one leaves in its home and `/tmp`, the next finds.
    Several,
}

/// Where a command's streams go.
#[derive(Debug, Clone)]
pub enum Streams {
    /// All three are the host's own.
    Inherit,
    /// Standard input is given, both outputs are kept in windows.
    Capture {
        /// What the command reads.
        stdin: Vec<u8>,
        /// How much of each output is kept.
        window: Window,
    },
}

impl Execution {
    /// A writable workspace in the default boundary.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self {
            workspace: workspace.into(),
            mode: Mode::Write,
            writes: Vec::new(),
            reads: Vec::new(),
            sealed: Vec::new(),
            network: None,
            access: Access::Boundary,
            memory_bytes: None,
            limits: Limits::default(),
            require: Level::Complete,
            debugger: Permission::Refused,
            nested_namespaces: Permission::Refused,
            timeout: None,
            variables: Vec::new(),
            commands: Commands::Several,
            ground: None,
        }
    }

    /// Starts what holds the command whatever it is granted, so that the kernel makes it while the rest is prepared;
    /// `None` with full access. For [`PreparedExecution::run_early`].
    ///
    /// # Errors
    /// What keeps a process from being made.
    pub fn begin(&self) -> Result<Option<Early>, Error> {
        let usual = self.ground.is_none()
            && self.require == Level::Complete
            && [self.debugger, self.nested_namespaces] == [Permission::Refused; 2];
        // A control group's processes are handed over with the rest, before the command is secluded.
        if self.access == Access::Full || !usual || self.resources().count_together() {
            return Ok(None);
        }
        match self.network() {
            // Its gateway belongs to one command, and is handed over while that is secluded.
            Network::Allow(_) => Ok(None),
            network @ (Network::None | Network::Host) => Ok(Some(Boundary::early(&network, &self.resources())?)),
        }
    }

    fn network(&self) -> Network {
        self.network.clone().unwrap_or(confine::usual_network(self.access))
    }

    fn resources(&self) -> Resources {
        match self.memory_bytes {
            Some(bytes) => self.limits.with_memory(bytes),
            None => self.limits.alone(),
        }
    }

    /// The ground to stand on: what is known, or what is found where less than everything is accepted.
    fn ground(&self) -> Result<Ground, Error> {
        match (self.access, self.ground) {
            (_, Some(ground)) => Ok(ground),
            (Access::Full, None) => Ok(Ground::default()),
            (Access::Boundary | Access::Toolchains, None) => Ok(Ground::find(self.require, &self.network())?),
        }
    }

    /// Checks everything and makes the boundary ready for any number of commands.
    ///
    /// # Errors
    /// What the boundary refuses.
    pub fn prepare(&self, environment: &Environment<'_>) -> Result<PreparedExecution, Error> {
        self.limits.check()?;
        let workspace = self
            .workspace
            .canonicalize()
            .map_err(Error::file("find the workspace", &self.workspace))?;
        let (place, root) = match self.access {
            Access::Boundary | Access::Toolchains => (git_link::place(&workspace)?, Root::Assembled),
            Access::Full => (git_link::place_around(&workspace)?, Root::Host),
        };
        // A write that cannot be resolved is refused by the boundary, in its own words.
        let granted: Vec<PathBuf> = std::iter::once(&workspace)
            .chain(&self.writes)
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        let ground = self.ground()?;
        let rooted = ground.gives(Layer::AssembledRoot);
        let (recovered, held) = match (&place, self.mode) {
            (Some(place), Mode::Write) if rooted => (
                Held::recover_commands(place, ground),
                Held::for_command(&scratch_place(environment, &granted), place, root, ground)?,
            ),
            (Some(_), Mode::Write | Mode::Read) | (None, _) => (Vec::new(), None),
        };
        let borrowed = match (&place, &held) {
            (Some(place), None) => place.borrowed()?,
            (Some(_), Some(_)) | (None, _) => Vec::new(),
        };
        let view = held
            .as_ref()
            .map(Held::view)
            .or_else(|| place.as_ref().map(git_link::Place::view));
        let (mut toolchains, mut person) = (None, None);
        let mut policy = Policy {
            writes: self.writes.clone(),
            reads: self.reads.iter().cloned().chain(borrowed).collect(),
            sealed: self.sealed.clone(),
            git: view,
            access: world_access(self.access),
            workspace: Some(Workspace {
                path: workspace.clone(),
                mode: self.mode,
            }),
            resources: self.resources(),
            debugger: self.debugger,
            nested_namespaces: self.nested_namespaces,
            ground,
            ..Policy::default()
        };
        match self.access {
            Access::Boundary => {}
            Access::Toolchains => {
                let common = match &place {
                    Some(Place::Linked(linked)) => Some(linked.common_directory.as_path()),
                    Some(Place::Checkout(_)) | None => None,
                };
                let sealed = self.sealed.clone();
                toolchains = Some(confine::derive_toolchains(environment, sealed, common, &mut policy));
            }
            Access::Full => {
                confine::open_wide(&mut policy);
                if let (Some(Place::Linked(linked)), Some(granted)) = (&place, &mut policy.workspace) {
                    // What is held is the worktree's repository, from whatever directory of it.
                    granted.path.clone_from(&linked.worktree);
                    policy.directory = Some(workspace.clone());
                }
                person = Some(Arc::new(Asked::begin(Person::of(environment, Vec::new()))?));
            }
        }
        if let Some(terminal) = environment("TERM") {
            policy.environment.push((OsString::from("TERM"), terminal));
        }
        if let Some(network) = &self.network {
            if self.access == Access::Full && *network != Network::Host {
                return Err(crate::grant::field(
                    "network",
                    "with access `full` nothing keeps a command from the network; use `boundary` or leave it out",
                ));
            }
            policy.network = network.clone();
        }
        policy.environment.extend(self.variables.iter().cloned());
        let private = match (self.access, self.commands) {
            // With full access home and `/tmp` are the host's.
            (Access::Full, _) => Private::Memory,
            (Access::Boundary | Access::Toolchains, Commands::One) if rooted => Private::Memory,
            (Access::Boundary | Access::Toolchains, Commands::One | Commands::Several) => {
                Scratch::create(&scratch_place(environment, &granted))?.into()
            }
        };
        let boundary = Boundary::prepare(policy, private)?;
        Ok(PreparedExecution {
            demand: confine::demand(&boundary),
            boundary,
            toolchains: toolchains.map(Arc::new),
            person,
            timeout: self.timeout,
            held: held.map(|held| Arc::new(Mutex::new(held))),
            recovered,
            commands: self.commands,
        })
    }
}

fn world_access(access: Access) -> coder_boundary::Access {
    crate::admission::boundary_access(access)
}

/// The person's own place for temporary files, if one is named.
fn named_place(environment: &Environment<'_>) -> Option<PathBuf> {
    environment("TMPDIR")
        .map(PathBuf::from)
        .filter(|place| place.is_absolute())
}

/// Where this system keeps temporary files.
const USUAL: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Where commands of this person had their temporary files, as long as they did not grant the place itself.
pub(crate) fn temporary_places(environment: &Environment<'_>) -> Vec<PathBuf> {
    match named_place(environment) {
        Some(named) => vec![named],
        None => USUAL.map(PathBuf::from).to_vec(),
    }
}

/// A place for the private scratch outside everything the command may write.
fn scratch_place(environment: &Environment<'_>, granted: &[PathBuf]) -> PathBuf {
    let free = |place: &PathBuf| {
        place
            .canonicalize()
            .is_ok_and(|place| !granted.iter().any(|granted| place.starts_with(granted)))
    };
    // When every place is granted, the boundary refuses with its own words.
    named_place(environment)
        .into_iter()
        .chain(USUAL.map(PathBuf::from))
        .find(free)
        .unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// A boundary made ready.
#[derive(Debug, Clone)]
pub struct PreparedExecution {
    boundary: Boundary,
    demand: Enforced,
    toolchains: Option<Arc<Toolchains>>,
    /// The person's environment, with full access.
    person: Option<Arc<Asked>>,
    timeout: Option<Duration>,
    /// What Git changes in a linked worktree; taken over after each command.
    held: Option<Arc<Mutex<Held>>>,
    recovered: Vec<Published>,
    commands: Commands,
}

/// How a command ended and what held it.
#[derive(Debug, Clone)]
pub struct Executed {
    /// How it ended.
    pub outcome: Outcome,
    /// What really held it.
    pub enforced: Enforced,
    /// What of its bounds ran out.
    pub exhausted: Exhausted,
    /// What it did through the gateway to listed hosts, where it had one.
    pub connections: Option<Connections>,
    /// What its kept output says was denied, and the boundary's policy refuses; nothing where the streams were inherited.
    pub denied: Vec<Denied>,
    /// Names that Git would obey and that a command could have made, and did.
    pub appeared: Vec<PathBuf>,
    /// What of the command's Git has reached the repository, where that lies elsewhere and anything was changed.
    pub git: Option<Published>,
    /// What was derived of this computer's toolchains, with access to them.
    pub toolchains: Value,
    /// Where the command's environment came from, but in the default boundary.
    pub(crate) command_environment: Option<Arc<CommandEnvironment>>,
}

impl PreparedExecution {
    /// What every command will be held by, if the kernel gives all that is asked of it.
    pub fn planned(&self) -> &Enforced {
        self.boundary.planned()
    }

    /// What was taken over of the Git of earlier commands in this worktree whose hosts were killed.
    pub fn recovered(&self) -> &[Published] {
        &self.recovered
    }

    /// What a command may do to a path, which is absolute, and by which rule.
    pub fn why(&self, path: &Path) -> Why {
        self.boundary.why(path)
    }

    /// Whether a command may connect to a host and port, and by which rule.
    pub fn why_host(&self, host: &HostName, port: u16) -> Why {
        self.boundary.why_host(host, port)
    }

    /// Runs one command to its end.
    ///
    /// # Errors
    /// [`Error::Process`] when nothing ran, [`Error::TooLittleEnforced`] when the kernel gave less than the mode promises.
    pub fn run(&self, argv: &[OsString], streams: Streams, cancel: &Cancel) -> Result<Executed, Error> {
        self.run_early(argv, streams, None, cancel)
    }

    /// The same with what [`Execution::begin`] started, which helps a command whose streams are inherited.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_early(
        &self,
        argv: &[OsString],
        streams: Streams,
        early: Option<Early>,
        cancel: &Cancel,
    ) -> Result<Executed, Error> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err(crate::grant::field("command", "a program is needed"));
        };
        let gateway = self.boundary.gateway(Outside::of_this_machine())?;
        let person = self.person.as_ref().map(|asked| asked.wait(cancel));
        let variables = person.as_deref().map_or(&[][..], CommandEnvironment::variables);
        let command = self
            .boundary
            .command_of(program, gateway.as_ref(), variables.iter().cloned())
            .arguments(arguments.iter().cloned());
        let command = match streams {
            Streams::Inherit => command
                .stdin(Stdin::Inherit)
                .stdout(Output::Inherit)
                .stderr(Output::Inherit),
            Streams::Capture { stdin, window } => command
                .stdin(Stdin::Bytes(stdin))
                .stdout(Output::Capture(window))
                .stderr(Output::Capture(window)),
        };
        let absent = Absent::in_view(&self.boundary);
        let outcome = self.watched(self.timed(command), early, cancel)?;
        let connections = gateway.map(Gateway::finish);
        let enforced = self.boundary.enforced(outcome.layers);
        enforced
            .satisfies(&self.demand)
            .map_err(|shortfall| Error::TooLittleEnforced {
                missing: shortfall.to_string(),
            })?;
        Ok(Executed {
            exhausted: self.boundary.exhausted(outcome.exhausted),
            enforced,
            denied: denials::of_outcome(&self.boundary, &outcome),
            outcome,
            connections,
            appeared: absent.appeared(),
            git: self.published()?,
            toolchains: self.toolchains.as_deref().map_or(Value::Null, |derived| {
                confine::toolchains_record(derived, &self.boundary)
            }),
            command_environment: match person {
                Some(environment) => Some(environment),
                None => self
                    .toolchains
                    .as_deref()
                    .map(CommandEnvironment::of_toolchains)
                    .map(Arc::new),
            },
        })
    }

    fn published(&self) -> Result<Option<Published>, Error> {
        let Some(held) = &self.held else { return Ok(None) };
        // A panic elsewhere leaves nothing half-done in it.
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_unchanged()? {
            return Ok(None);
        }
        let published = held.publish(&Git::find()?);
        match self.commands {
            Commands::One => {}
            Commands::Several => held.renew()?,
        }
        Ok(Some(published))
    }

    fn timed(&self, command: Command) -> Command {
        match self.timeout {
            Some(timeout) => command.deadline(timeout),
            None => command,
        }
    }

    fn watched(&self, command: Command, early: Option<Early>, cancel: &Cancel) -> Result<Outcome, Error> {
        let demand = self.demand.clone();
        let boundary = &self.boundary;
        let observe = &mut |event: Event<'_>| match event {
            // Told before the program does anything that matters: too little ends it at once.
            Event::Started { layers, .. } if boundary.enforced(layers).satisfies(&demand).is_err() => Flow::Stop,
            Event::Holding { .. } | Event::Started { .. } | Event::Output { .. } => Flow::Continue,
        };
        let outcome = match early.and_then(|early| boundary.take(early)) {
            Some(early) => coder_process::run_early(&command, early, cancel, observe),
            None => coder_process::run(&command, cancel, observe),
        };
        outcome.map_err(|error| match refused::words(&error, boundary.network()) {
            Some(missing) => Error::TooLittleEnforced { missing },
            None => Error::Process(error),
        })
    }
}
