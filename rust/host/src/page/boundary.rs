//! What every command was held by: planned at the admission, reported by the kernel with each result, and compared.

use super::markup::{Class, Markup};
use super::{Gathered, prose};
use crate::screen;
use crate::timeline::Event;
use coder_boundary::Enforced;
use serde_json::Value;

pub(super) fn boundary(markup: &mut Markup, gathered: &Gathered) {
    markup.raw("<section id=\"boundary\"><h2>Boundary</h2>\n");
    let planned = gathered.admission().and_then(|admission| admission.get("enforcing"));
    match planned.and_then(parsed) {
        None => {
            markup.raw("<p>The trace does not say what was to be enforced.</p>\n");
        }
        Some(planned) => {
            markup.raw("<ul class=\"layers\">");
            for layer in planned.to_string().split(", ") {
                markup.wrap("<li>", layer, "</li>");
            }
            markup.raw("</ul>\n");
            held(markup, gathered, &planned);
        }
    }
    if let Some(admission) = gathered.admission() {
        prose::value(markup, "The admission as recorded", admission);
    }
    markup.raw("</section>\n");
}

fn held(markup: &mut Markup, gathered: &Gathered, planned: &Enforced) {
    let mut as_planned = 0;
    let mut less = Vec::new();
    for entry in &gathered.timeline.entries {
        let Event::Command(command) = &entry.event else {
            continue;
        };
        let Some(enforced) = command.enforced.as_ref().and_then(parsed) else {
            continue;
        };
        match enforced.satisfies(planned) {
            Ok(()) => as_planned += 1,
            Err(shortfall) => less.push((entry.step, shortfall.to_string())),
        }
    }
    let words = format!(
        "Held as planned for {}, as the kernel reported.",
        screen::counted(as_planned, "command")
    );
    markup.wrap("<p>", &words, "</p>\n");
    for (step, shortfall) in less {
        markup
            .raw("<p>")
            .badge(Class::Bad, "less than planned")
            .raw(" <a href=\"#s")
            .number(step)
            .raw("\">step ");
        markup.number(step).wrap("</a>: ", &shortfall, "</p>\n");
    }
}

fn parsed(value: &Value) -> Option<Enforced> {
    serde_json::from_value(value.clone()).ok()
}
