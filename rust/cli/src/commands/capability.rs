//! `coder capability`: whose suites may run. Shows exactly what an approval covers; decides nothing.

use crate::arguments::{ApproveArguments, CapabilityCommand, RevokeArguments};
use crate::output::{self, Failure};
use crate::surroundings;
use coder_digest::{Identifier, display_bytes};
use coder_host::{Approval, Approved, TrustStore};

const REFUSED: u8 = 1;
const WRONG_USE: u8 = 64;

pub(crate) fn capability(command: &CapabilityCommand) -> Result<u8, Failure> {
    let store = TrustStore::of(&surroundings::environment).map_err(refused)?;
    match command {
        CapabilityCommand::Approve(arguments) => approve(&store, arguments),
        CapabilityCommand::List { json } => list(&store, *json),
        CapabilityCommand::Revoke(arguments) => revoke(&store, arguments),
    }
}

fn refused(error: coder_host::Error) -> Failure {
    Failure::of(&error, REFUSED)
}

fn approve(store: &TrustStore, arguments: &ApproveArguments) -> Result<u8, Failure> {
    let manifest = surroundings::here()?.join(&arguments.manifest);
    let clock = surroundings::clock();
    let approved = match arguments.dry_run {
        true => store.examine(&manifest, clock.as_ref()),
        false => store.approve(&manifest, clock.as_ref()),
    };
    let approved = approved.map_err(refused)?;
    if arguments.json || !output::person_reads() {
        output::json(&approved)?;
    } else {
        let done = if arguments.dry_run { "Would approve" } else { "Approved" };
        output::data(told(done, &approved).as_bytes())?;
    }
    Ok(0)
}

fn told(done: &str, approved: &Approved) -> String {
    let plain = |text: &str| display_bytes(text.as_bytes());
    let approval = &approved.approval;
    let mut text = format!(
        "{done} `{}` {}\n  manifest  {}  {}\n  program   {}  {}\n",
        approval.slug,
        plain(&approved.name),
        approval.manifest.hex(),
        plain(&approved.manifest_path.display().to_string()),
        approval.adapter_digest.hex(),
        plain(&approval.adapter),
    );
    for pinned in &approval.pinned {
        text.push_str(&format!(
            "  file      {}  {}\n",
            pinned.digest.hex(),
            plain(&pinned.path)
        ));
    }
    let needs = &approved.needs;
    let word = |given| if given { "yes" } else { "no" };
    text.push_str(&format!(
        "  toolchains {}, network {}, programs: {}\n",
        word(needs.toolchains),
        word(needs.network),
        plain(&needs.programs.join(" "))
    ));
    if !approved.replaced.is_empty() {
        text.push_str("  in place of an earlier approval\n");
    }
    text.push_str(&format!("  in {}\n", plain(&approved.store.display().to_string())));
    text
}

fn list(store: &TrustStore, json: bool) -> Result<u8, Failure> {
    let records = store.list().map_err(refused)?;
    if json || !output::person_reads() {
        output::json(&records)?;
    } else if records.is_empty() {
        output::data(b"Nothing is approved.\n")?;
    } else {
        let lines: String = records.iter().map(line).collect();
        output::data(lines.as_bytes())?;
    }
    Ok(0)
}

fn line(record: &Approval) -> String {
    let program = display_bytes(record.adapter.as_bytes());
    format!("{}  {}  {program}\n", record.slug, record.adapter_digest.hex())
}

fn revoke(store: &TrustStore, arguments: &RevokeArguments) -> Result<u8, Failure> {
    let slug = Identifier::new(arguments.slug.as_str())
        .map_err(|error| Failure::new("usage", error.to_string(), WRONG_USE))?;
    let revoked = store.revoke(&slug).map_err(refused)?;
    if arguments.json || !output::person_reads() {
        output::json(&revoked)?;
    } else {
        output::data(format!("Revoked `{slug}`.\n").as_bytes())?;
    }
    Ok(0)
}
