//! `microcoder doctor`: what works here, and the fix for what does not.

use crate::arguments::DoctorArguments;
use crate::output::{self, Failure};
use crate::surroundings;
use coder_host::{Standing, diagnose};

pub(crate) fn doctor(arguments: &DoctorArguments) -> Result<u8, Failure> {
    let diagnosis =
        diagnose(&surroundings::environment, surroundings::clock().as_ref()).map_err(|error| Failure::of(&error, 1))?;
    if arguments.json {
        output::json(&diagnosis)?;
    } else {
        let mut text = String::new();
        let mut group = "";
        for item in &diagnosis.items {
            if item.group != group {
                group = item.group;
                text.push_str(&format!("{group}\n"));
            }
            let mark = match item.standing {
                Standing::Ready => "ok      ",
                Standing::Optional => "optional",
                Standing::Missing => "MISSING ",
            };
            text.push_str(&format!("  {mark}  {:<18}  {}\n", item.name, item.detail));
            if let Some(fix) = &item.fix {
                text.push_str(&format!("            fix: {fix}\n"));
            }
        }
        let abi = diagnosis.landlock_abi.map_or("none".to_owned(), |abi| abi.to_string());
        text.push_str(&format!("Landlock ABI: {abi}\n"));
        text.push_str(if diagnosis.ready {
            "This machine can run agents.\n"
        } else {
            "This machine cannot run agents yet.\n"
        });
        output::data(text.as_bytes())?;
    }
    Ok(u8::from(!diagnosis.ready))
}
