//! The environment of the person whose machine this is, as their login shell makes it: what commands with full access
//! get. Asked once, in the background, from the account's login shell run interactively, because that is where people put
//! what their tools need. Credentials, what belongs to the shell itself and shell functions are left out.

use crate::command_environment::{CommandEnvironment, Origin};
use crate::confine::Environment;
use coder_boundary::account;
use coder_process::{Cancel, Command, Ending, Output, Stdin, Window};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long the shell may take.
const LIMIT: Duration = Duration::from_secs(20);
/// How often a wait looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(100);
/// The most that is read of what the shell prints, in bytes; an environment is at most about 2 MiB.
const PRINTED_BYTES: usize = 4 << 20;
/// What the shell's own files print comes before this line.
const MARKER: &str = "microcoder-environment-begins";
/// Names that end like this hold credentials.
const CREDENTIALS: [&str; 3] = ["_API_KEY", "_TOKEN", "_SECRET"];
/// What is one shell's own, or steers how the next one starts.
const OF_THE_SHELL: [&str; 16] = [
    "_",
    "BASHOPTS",
    "BASH_ENV",
    "BASH_EXECUTION_STRING",
    "COLUMNS",
    "ENV",
    "LINES",
    "OLDPWD",
    "PROMPT_COMMAND",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "PWD",
    "SHELLOPTS",
    "SHLVL",
];
/// Where programs usually are, when the shell does not say: in the home directory, and on the machine.
const TOOLS_IN_HOME: [&str; 4] = [".local/bin", "bin", ".cargo/bin", ".nix-profile/bin"];
const TOOLS: [&str; 8] = [
    "/opt/homebrew/bin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];

/// Who the person is. The home is the caller's, since that is where their files are; the rest the account's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Person {
    home: PathBuf,
    name: OsString,
    shell: PathBuf,
    /// Variables that hold a credential of the host's own.
    credentials: Vec<String>,
}

impl Person {
    /// The person who runs this. `credentials` names variables that the host keeps to itself.
    pub(crate) fn of(environment: &Environment<'_>, credentials: Vec<String>) -> Self {
        let account = account();
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let of_the_account = |part: fn(&coder_boundary::Account) -> OsString| {
            account.as_ref().map(part).filter(|value| !value.is_empty())
        };
        let home = set("HOME").map(PathBuf::from).and_then(absolute);
        let shell = of_the_account(|account| account.shell.clone().into_os_string()).or_else(|| set("SHELL"));
        Self {
            home: home
                .or_else(|| account.as_ref().map(|account| account.home.clone()).and_then(absolute))
                .unwrap_or_else(|| PathBuf::from("/")),
            name: of_the_account(|account| account.name.clone())
                .or_else(|| set("USER"))
                .unwrap_or_else(|| OsString::from("user")),
            shell: shell
                .map(PathBuf::from)
                .and_then(absolute)
                .unwrap_or_else(|| PathBuf::from("/bin/sh")),
            credentials,
        }
    }

    /// What tools ask to know who this is, whatever the shell says.
    fn forced(&self) -> [(OsString, OsString); 4] {
        [
            ("HOME", self.home.as_os_str()),
            ("USER", &self.name),
            ("LOGNAME", &self.name),
            ("SHELL", self.shell.as_os_str()),
        ]
        .map(|(name, value)| (OsString::from(name), value.to_owned()))
    }

    fn ask(&self, cancel: &Cancel) -> CommandEnvironment {
        match self.printed(cancel) {
            Ok(variables) => self.environment(Origin::LoginShell, variables),
            Err(reason) => {
                let path = (OsString::from("PATH"), self.usual_path());
                self.environment(Origin::Fallback { reason }, vec![path])
            }
        }
    }

    fn environment(&self, origin: Origin, mut variables: Vec<(OsString, OsString)>) -> CommandEnvironment {
        variables.retain(|(name, value)| self.keeps(name, value));
        if !variables.iter().any(|(name, _)| name == "PATH") {
            variables.push((OsString::from("PATH"), self.usual_path()));
        }
        let forced = self.forced();
        variables.retain(|(name, _)| !forced.iter().any(|(known, _)| known == name));
        variables.extend(forced);
        CommandEnvironment::new(origin, Some(&self.shell), variables)
    }

    /// Runs the shell and reads what it would give to a program.
    fn printed(&self, cancel: &Cancel) -> Result<Vec<(OsString, OsString)>, String> {
        let script = format!("printf '%s\\n' {MARKER}; exec /usr/bin/env -0");
        let window = |head| Output::Capture(Window { head, tail: 0 });
        let command = Command::new(&self.shell)
            .arguments(["-l", "-i", "-c", &script])
            .variables(self.forced())
            .variable("PATH", self.usual_path())
            .variable("TERM", "dumb")
            .directory(Path::new("/"))
            .stdin(Stdin::Null)
            .stdout(window(PRINTED_BYTES))
            .stderr(window(0))
            .grace(Duration::ZERO)
            .deadline(LIMIT);
        let outcome = coder_process::run(&command, cancel, &mut |_| coder_process::Flow::Continue)
            .map_err(|error| crate::world::chain(&error))?;
        match outcome.ending {
            Ending::Exited(0) => {}
            Ending::DeadlineExceeded { .. } => return Err(format!("it took longer than {} s", LIMIT.as_secs())),
            other => return Err(format!("it ended with {}", crate::outcome::ending_word(&other).0)),
        }
        if outcome.stdout.gap().is_some() {
            return Err(format!("it printed more than {PRINTED_BYTES} bytes"));
        }
        parse(&outcome.stdout.head).ok_or_else(|| "it printed no environment".to_owned())
    }

    fn keeps(&self, name: &OsStr, value: &OsStr) -> bool {
        let upper = name.to_ascii_uppercase();
        let bytes = upper.as_bytes();
        let credential = CREDENTIALS.iter().any(|ending| bytes.ends_with(ending.as_bytes()))
            || self.credentials.iter().any(|named| name == OsStr::new(named));
        let of_the_shell = OF_THE_SHELL.iter().any(|own| name == OsStr::new(own));
        // Of older and newer versions of bash.
        let function = bytes.starts_with(b"BASH_FUNC_") || value.as_bytes().starts_with(b"() {");
        !credential && !of_the_shell && !function
    }

    fn usual_path(&self) -> OsString {
        let in_home = TOOLS_IN_HOME.iter().map(|place| self.home.join(place));
        let places = in_home
            .chain(TOOLS.iter().map(PathBuf::from))
            .filter(|place| place.is_dir());
        let parts: Vec<OsString> = places.map(PathBuf::into_os_string).collect();
        parts.join(OsStr::new(":"))
    }
}

/// What follows the marker: `NAME=VALUE`, each ended by a NUL. Nothing without a marker, or without an end.
fn parse(printed: &[u8]) -> Option<Vec<(OsString, OsString)>> {
    let marker = format!("{MARKER}\n");
    let length = marker.len();
    let begin = printed
        .windows(length)
        .rposition(|window| window == marker.as_bytes())?;
    let listed = printed.get(begin + length..)?.strip_suffix(b"\0")?;
    let pairs = listed.split(|byte| *byte == 0).filter_map(|pair| {
        let equals = pair.iter().position(|byte| *byte == b'=').filter(|place| *place > 0)?;
        let (name, value) = pair.split_at(equals);
        Some((
            OsString::from_vec(name.to_vec()),
            OsString::from_vec(value.get(1..)?.to_vec()),
        ))
    });
    Some(pairs.collect())
}

/// An environment that is being asked for. Dropped before its end, it stops asking.
#[derive(Debug)]
pub(crate) struct Asked {
    cancel: Cancel,
    answer: Arc<(Mutex<Option<Arc<CommandEnvironment>>>, Condvar)>,
}

impl Asked {
    /// Begins to ask.
    ///
    /// # Errors
    /// [`coder_process::Error`] when the process has no descriptor left.
    pub(crate) fn begin(person: Person) -> Result<Self, coder_process::Error> {
        let asked = Self {
            cancel: Cancel::new()?,
            answer: Arc::default(),
        };
        let (cancel, answer) = (asked.cancel.clone(), Arc::clone(&asked.answer));
        std::thread::spawn(move || {
            let environment = Arc::new(person.ask(&cancel));
            let (place, told) = &*answer;
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(environment);
            told.notify_all();
        });
        Ok(asked)
    }

    /// The answer, which comes at once when `cancel` is on: then it is what is known without the shell.
    pub(crate) fn wait(&self, cancel: &Cancel) -> Arc<CommandEnvironment> {
        let (place, told) = &*self.answer;
        let mut answer = place.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(environment) = &*answer {
                return Arc::clone(environment);
            }
            if let Some(reason) = cancel.reason() {
                self.cancel.hurry(reason);
            }
            answer = told
                .wait_timeout(answer, LOOK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.cancel.hurry(coder_process::Reason::HostClosing);
    }
}

#[cfg(test)]
#[path = "login_environment_tests.rs"]
mod tests;
