//! Every text the store keeps, for whoever must know what is named anywhere in it. What a text means is not known here.

use crate::Error;
use crate::store::Store;

const TEXTS: &str =
    "SELECT request FROM commands UNION ALL SELECT receipt FROM commands UNION ALL SELECT event FROM events
     UNION ALL SELECT state FROM tasks";

impl Store {
    /// Gives `look` every text that a record or a task has, as it is stored, from one consistent state.
    ///
    /// # Errors
    /// `corrupt_store`, `io`.
    pub fn each_text(&self, mut look: impl FnMut(&[u8])) -> Result<(), Error> {
        self.query(&self.reader(), "read every text", |connection| {
            let mut statement = connection.prepare(TEXTS)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                look(row.get_ref(0)?.as_bytes()?);
            }
            Ok(())
        })
    }
}
