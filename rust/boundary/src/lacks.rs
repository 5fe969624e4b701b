//! What a boundary below the highest level does not hold, in words for people: said before a command, and written down
//! with what came of it. Enforces nothing.

use crate::enforced::{AbstractSockets, Enforced, Namespace, Reach, Root, Signals, SystemCalls};
use crate::policy::Access;

impl Enforced {
    /// What a boundary of the highest level would hold beside, or let work; nothing at that level, and nothing with full
    /// access, which promises nothing.
    #[must_use]
    pub fn lacks(&self) -> Vec<&'static str> {
        if self.access == Access::Full {
            return Vec::new();
        }
        let held = [
            (
                self.root == Root::Assembled || self.landlock.is_some(),
                "every file of this user can be read and changed",
            ),
            (
                self.root == Root::Assembled || self.landlock.is_none(),
                "what Git obeys in a writable workspace can be changed, and is compared afterwards",
            ),
            (self.landlock.is_some(), "no Landlock behind the other walls"),
            (
                self.processes == Namespace::Own,
                "the host's processes can be seen, and on its end every descendant is hunted instead of gone at once",
            ),
            (
                self.signals != Signals::Host,
                "signals reach every process of this user",
            ),
            (
                self.processes == Namespace::Own || self.landlock.is_some(),
                "the memory of this user's processes can be reached",
            ),
            (self.users == Namespace::Own, "no user namespace"),
            (
                self.abstract_sockets != AbstractSockets::Host,
                "abstract unix sockets of the host can be reached",
            ),
            (
                self.abstract_sockets != AbstractSockets::Refused,
                "no unix sockets but pairs",
            ),
            (self.network != Reach::Refused, "no loopback network"),
            (self.ipc == Namespace::Own, "no System V IPC"),
            (self.host_name == Namespace::Own, "the host's name shows"),
            (
                self.system_calls == SystemCalls::Filtered,
                "system calls are not filtered",
            ),
        ];
        let lacking = held.into_iter().filter(|(holds, _)| !holds);
        lacking.map(|(_, words)| words).collect()
    }
}

#[cfg(test)]
#[path = "lacks_tests.rs"]
mod tests;
